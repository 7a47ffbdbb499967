// What colour a point has and why: classes or a scale made from a column, and which are shown.

import { mainRange } from "./geometry.js";
import { MOST_CLASSES, MOST_NUMBERS, classColor, greyColor, ramp, scaleColor } from "./colors.js";

import { rounded } from "./words.js";

/**
 * @typedef {import("./data.js").Column} Column
 * @typedef {import("./types.js").Coloring} Coloring
 * @typedef {import("./types.js").Entry} Entry
 * @typedef {import("./types.js").Theme} Theme
 */

const COLLATOR = new Intl.Collator("en", { numeric: true });

/**
 * The values of a column whose numbers are few and whole: it is one of classes.
 * @param {Column} column
 * @returns {number[] | null}
 */
export function classNumbers(column) {
  if (!column.whole || column.time) return null; // dates are a scale, however few
  /** @type {Set<number>} */
  const found = new Set();
  for (let row = 0; row < column.values.length; row++) {
    const value = column.values[row];
    if (!Number.isNaN(value)) found.add(value);
    if (found.size > MOST_NUMBERS) return null;
  }
  return [...found].sort((a, b) => a - b);
}

/**
 * Colours by category: the commonest have their own, the others share one, so do missing ones.
 * @implements {Coloring}
 */
export class Classes {
  /**
   * @param {Column} column
   * @param {number[] | null} numbers those that are its categories, where it is not of texts
   */
  constructor(column, numbers) {
    const n = column.values.length;
    const labels = numbers ? numbers.map(String) : column.texts;
    const codeOf = numbers ? new Map(numbers.map((value, code) => [value, code])) : null;
    const counts = new Uint32Array(labels.length);
    let lost = 0;
    const codes = Int32Array.from({ length: n }, (_, row) => {
      if (column.missing(row)) return lost++, -1;
      const code = codeOf?.get(column.values[row]) ?? column.values[row];
      counts[code]++;
      return code;
    });
    const order = [...labels.keys()].sort((a, b) => counts[b] - counts[a] || a - b);
    const own = order.slice(0, labels.length > MOST_CLASSES ? MOST_CLASSES - 1 : MOST_CLASSES);
    const others = order.length - own.length;
    if (numbers) own.sort((a, b) => a - b);
    else own.sort((a, b) => COLLATOR.compare(labels[a].slice(0, 200), labels[b].slice(0, 200)));
    /** @type {Entry[]} */
    this.entries = own.map((code, place) => ({
      label: labels[code],
      count: counts[code],
      color: (/** @type {Theme} */ theme) => classColor(place, theme),
      shown: true,
      rest: false,
    }));
    const rank = new Int32Array(labels.length).fill(own.length);
    own.forEach((code, place) => (rank[code] = place));
    if (others) {
      const rest = order.slice(own.length).reduce((sum, code) => sum + counts[code], 0);
      const label = `${others} other values`;
      this.entries.push({ label, count: rest, color: greyColor, shown: true, rest: true });
    }
    const missing = this.entries.length;
    if (lost) {
      this.entries.push({ label: "missing", count: lost, color: greyColor, shown: true, rest: true });
    }
    this.places = Uint8Array.from(codes, (code) => (code < 0 ? missing : rank[code]));
  }

  /** @param {number} row */
  shows(row) {
    return this.entries[this.places[row]].shown;
  }

  /**
   * Write red, green and blue of every point.
   * @param {Uint8Array} colors
   * @param {Theme} theme
   */
  paint(colors, theme) {
    const palette = this.entries.map((entry) => entry.color(theme));
    this.places.forEach((place, row) => colors.set(palette[place], 4 * row));
  }
}

/**
 * Colours by a number, from the least to the largest but for those far from the others, which share
 * the colours of the ends; missing ones are grey.
 * @implements {Coloring}
 */
export class Scale {
  /**
   * @param {ArrayLike<number>} values
   * @param {[number, number]} range what the ends of the colours stand for
   * @param {import("./types.js").Colors} color
   */
  constructor(values, range = extent(values), color = scaleColor) {
    this.values = values;
    this.words = rounded; // of a value, for reading
    this.low = range[0];
    this.high = range[1];
    this.color = color;
    this.from = 0;
    this.to = 1;
    // Whether values lie beyond the ends.
    this.below = this.above = false;
    for (let row = 0; row < values.length; row++) {
      this.below ||= values[row] < this.low;
      this.above ||= values[row] > this.high;
    }
  }

  /** @param {number} row */
  share(row) {
    const value = this.values[row];
    if (!Number.isFinite(value)) return value === Infinity ? 1 : value === -Infinity ? 0 : NaN;
    return this.high > this.low ? (value - this.low) / (this.high - this.low) : 0.5;
  }

  /** @param {number} row */
  shows(row) {
    if (this.from === 0 && this.to === 1) return true;
    const share = Math.min(Math.max(this.share(row), 0), 1); // NaN stays NaN
    return share >= this.from && share <= this.to;
  }

  /**
   * The value at a share of the scale.
   * @param {number} share
   */
  at(share) {
    return this.low + (this.high - this.low) * share;
  }

  /**
   * @param {Uint8Array} colors
   * @param {Theme} theme
   */
  paint(colors, theme) {
    const palette = ramp(this.color, theme);
    const grey = greyColor(theme);
    for (let row = 0; row < this.values.length; row++) {
      const share = this.share(row);
      if (Number.isNaN(share)) colors.set(grey, 4 * row);
      else {
        const place = 4 * Math.round(255 * Math.min(Math.max(share, 0), 1));
        for (let part = 0; part < 3; part++) colors[4 * row + part] = palette[place + part];
      }
    }
  }
}

/**
 * One colour for all, where there is no column.
 * @implements {Coloring}
 */
class Plain {
  shows() {
    return true;
  }

  /**
   * @param {Uint8Array} colors
   * @param {Theme} theme
   */
  paint(colors, theme) {
    const color = classColor(0, theme);
    for (let start = 0; start < colors.length; start += 4) colors.set(color, start);
  }
}

/**
 * @param {Column | undefined} column
 * @returns {Classes | Scale | Plain}
 */
export function coloringOf(column) {
  if (!column) return new Plain();
  if (!column.numeric) return new Classes(column, null);
  const numbers = classNumbers(column);
  if (numbers) return new Classes(column, numbers);
  const scale = new Scale(column.values);
  scale.words = (value) => column.words(value);
  return scale;
}

/**
 * @param {ArrayLike<number>} values
 * @returns {[number, number]}
 */
function extent(values) {
  const [least, largest] = mainRange(values);
  let [low, high] = [Infinity, -Infinity];
  for (let row = 0; row < values.length; row++) {
    const value = values[row];
    if (Number.isFinite(value) && value >= least && value <= largest) {
      [low, high] = [Math.min(low, value), Math.max(high, value)];
    }
  }
  return low <= high ? [low, high] : [0, 1];
}
