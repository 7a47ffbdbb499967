// Dates, which are days since 1970, and times of the day, which are hours.

const DAY = 86_400_000; // milliseconds
const DATE = /^(\d{1,4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?$/;
const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/;
const LARGEST = 1e8; // days that JavaScript knows

/**
 * A date as 2024-02-29, with the time of the day unless days are whole.
 * @param {number} days
 * @param {boolean} whole
 */
export function dateOf(days, whole) {
  if (!(Math.abs(days) < LARGEST)) return String(days);
  // To the second: fractions of days are not exact.
  const text = new Date(Math.round((days * DAY) / 1000) * 1000).toISOString();
  const [date, time] = text.slice(0, -5).split("T");
  if (whole) return date;
  return `${date} ${time.endsWith(":00") ? time.slice(0, -3) : time}`;
}

/**
 * A time of the day as 09:30.
 * @param {number} hours
 */
export function clockOf(hours) {
  const seconds = Math.round(3600 * hours);
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map((part) => String(Math.floor(part)).padStart(2, "0"));
  return parts.slice(0, parts[2] === "00" ? 2 : 3).join(":");
}

/**
 * The number that a date or a time stands for, NaN where it is none. Of a month or a year, its start.
 * @param {string} text
 * @param {import("./types.js").Time} unit
 */
export function timeOf(text, unit) {
  if (unit === "clock") {
    const [, hours, minutes, seconds = "0"] = CLOCK.exec(text) ?? [];
    return Number(hours) + Number(minutes) / 60 + Number(seconds) / 3600;
  }
  const found = DATE.exec(text);
  if (!found) return NaN;
  const [year, month, day, hours, minutes, seconds] = found.slice(1).map((part) => Number(part ?? NaN));
  const or = (/** @type {number} */ value, /** @type {number} */ other) => (Number.isNaN(value) ? other : value);
  return Date.UTC(year, or(month, 1) - 1, or(day, 1), or(hours, 0), or(minutes, 0), or(seconds, 0)) / DAY;
}
