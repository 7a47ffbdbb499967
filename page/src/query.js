// Conditions that are typed into the search: weight > 13, 2 <= age < 5 and species = setosa.

/**
 * @typedef {import("./data.js").Column} Column
 * @typedef {"<" | "<=" | ">" | ">=" | "=" | "!="} Sign
 * @typedef {{ name: string, sign: Sign, value: string }} Condition
 */

const OUTSIDE = '(?=(?:[^"]*"[^"]*")*[^"]*$)'; // of quotes
const AND = new RegExp(`(?:\\s+and\\s+|\\s*&+\\s*)${OUTSIDE}`, "i");
const SIGNS = new RegExp(`\\s*(<=|>=|!=|[<>=\\u2264\\u2265\\u2260])\\s*${OUTSIDE}`);
/** @type {Record<string, Sign>} */
const PLAIN = { "\u2264": "<=", "\u2265": ">=", "\u2260": "!=" };
/** @type {Record<Sign, Sign>} */
const TURNED = { "<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!=" };

/**
 * The conditions of a text, or null where it is none of conditions.
 * @param {string} text
 * @param {(words: string) => string | null} nameOf the column that is meant
 * @returns {Condition[] | null}
 */
export function conditionsOf(text, nameOf) {
  const whole = conditionOf(text, nameOf);
  if (whole) return whole;
  const parts = text.split(AND).map((part) => conditionOf(part, nameOf));
  return parts.every((part) => part !== null) ? parts.flat() : null;
}

/**
 * @param {string} text
 * @param {(words: string) => string | null} nameOf
 * @returns {Condition[] | null}
 */
function conditionOf(text, nameOf) {
  const parts = text.trim().split(SIGNS);
  if (parts.length !== 3 && parts.length !== 5) return null;
  const [first, sign, second, other, third] = parts;
  const one = pair(first, sign, second, nameOf);
  if (parts.length === 3) return one && [one];
  // Two limits: the column is in the middle.
  const next = pair(second, other, third, nameOf);
  return one && next && one.name === next.name && nameOf(second) !== null ? [one, next] : null;
}

/**
 * What a text compares with a value as if it were a column; empty where it compares nothing, or a
 * column is there.
 * @param {string} text
 * @param {(words: string) => string | null} nameOf
 */
export function unknownIn(text, nameOf) {
  for (const part of text.split(AND)) {
    const [first, sign, second, , third] = part.trim().split(SIGNS);
    const name = third ? second : first;
    if (sign && name && second && ![first, second].some((words) => nameOf(words) !== null)) return unquoted(name);
  }
  return "";
}

/**
 * @param {string} left
 * @param {string} written
 * @param {string} right
 * @param {(words: string) => string | null} nameOf
 * @returns {Condition | null}
 */
function pair(left, written, right, nameOf) {
  const sign = PLAIN[written] ?? /** @type {Sign} */ (written);
  if (!left || !right) return null;
  const [first, second] = [nameOf(left), nameOf(right)];
  if (first !== null) return { name: first, sign, value: unquoted(right) };
  return second === null ? null : { name: second, sign: TURNED[sign], value: unquoted(left) };
}

/** @param {string} text */
const unquoted = (text) => text.replace(/^(["'])(.*)\1$/, "$2");

/**
 * Mark the rows that meet a condition; false where the value is none of the column's.
 * @param {Condition} condition
 * @param {Column} column
 * @param {Uint8Array} mask of rows that are still meant; the others become 0
 */
export function narrow({ sign, value }, column, mask) {
  const number = column.numeric ? column.numberOf(value) : 0;
  // A column in single precision has no 0.1 of double precision.
  const wanted = column.numeric ? (column.exact ? number : Math.fround(number)) : value.toLowerCase();
  if (!column.numeric && sign !== "=" && sign !== "!=") return false;
  if (Number.isNaN(wanted)) return false;
  const same = column.texts.map((text) => text.toLowerCase() === wanted);
  for (let row = 0; row < mask.length; row++) {
    if (!mask[row]) continue;
    const cell = column.values[row];
    if (column.missing(row)) mask[row] = 0;
    else if (column.numeric) mask[row] = Number(holds(cell, sign, Number(wanted)));
    else mask[row] = Number(same[cell] === (sign === "="));
  }
  return true;
}

/**
 * @param {number} cell
 * @param {Sign} sign
 * @param {number} wanted
 */
function holds(cell, sign, wanted) {
  if (sign === "<") return cell < wanted;
  if (sign === "<=") return cell <= wanted;
  if (sign === ">") return cell > wanted;
  if (sign === ">=") return cell >= wanted;
  return (cell === wanted) === (sign === "=");
}
