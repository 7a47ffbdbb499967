// The data of the page: arrays that are unpacked when they are first needed, and columns.

import { clockOf, dateOf, timeOf } from "./dates.js";
import { named, rounded } from "./words.js";

/**
 * @typedef {import("./types.js").Description} Description
 * @typedef {import("./types.js").Numbers} Numbers
 * @typedef {import("./types.js").NumberType} NumberType
 * @typedef {import("./types.js").PackedColumn} PackedColumn
 */

const TYPES = {
  float32: Float32Array,
  float64: Float64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
};
const MISSING = 0xffffffff;
const ROUNDED = (/** @type {number} */ value) => (Number.isInteger(value) ? value : Number(value.toPrecision(6)));

/** @type {Description | undefined} */
let described;

/**
 * The description of everything on the page, as Python wrote it.
 * @returns {Description}
 */
export function description() {
  return (described ??= JSON.parse(textOf("data")));
}

/**
 * The text of an element that is not shown.
 * @param {string} id
 */
function textOf(id) {
  const text = document.getElementById(id)?.textContent;
  if (!text) throw new Error(`the page has no ${id}; a part of its file is missing`);
  return text;
}

/** @type {Map<number, Promise<Numbers>>} */
const unpacked = new Map();

/**
 * An array by its number, kept for the next time.
 * @param {number} number
 * @returns {Promise<Numbers>}
 */
export function array(number) {
  const found = unpacked.get(number) ?? unpack(number);
  unpacked.set(number, found);
  return found;
}

/**
 * An array that Python keeps as single precision, or as codes of such numbers.
 * @param {number} number
 * @returns {Promise<Float32Array<ArrayBuffer>>}
 */
export async function floats(number) {
  const found = await array(number);
  return found instanceof Float32Array ? found : Float32Array.from(found);
}

/**
 * @param {number} number
 * @returns {Promise<Numbers>}
 */
async function unpack(number) {
  const { type, length, delta, scale, powers } = description().arrays[number];
  const packed = fromBase64(textOf(`array-${number}`));
  document.getElementById(`array-${number}`)?.remove(); // not needed again, and may be large
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const result = joinPlanes(planes, TYPES[type], length);
  if (delta) for (let i = 1; i < length; i++) result[i] += result[i - 1];
  if (scale) return Float32Array.from(result, (code) => scale[0] + scale[1] * code);
  if (powers) return byPowers(result, powers);
  return result;
}

/**
 * Numbers from codes: 0 is 0, the others are steps of the logarithm.
 * @param {Numbers} codes
 * @param {[number, number]} powers
 */
function byPowers(codes, [low, step]) {
  const table = Float32Array.from({ length: 65536 }, (_, code) => Math.exp(low + step * (code - 1)));
  table[0] = 0;
  return Float32Array.from(codes, (code) => table[code]);
}

/** @param {string} text */
function fromBase64(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/**
 * Undo the order of bytes: first the lowest of all values, then the next.
 * @param {Uint8Array} planes
 * @param {(typeof TYPES)[NumberType]} Type
 * @param {number} length
 */
function joinPlanes(planes, Type, length) {
  const width = Type.BYTES_PER_ELEMENT;
  const bytes = new Uint8Array(planes.length);
  for (let plane = 0; plane < width; plane++) {
    const start = plane * length;
    for (let i = 0; i < length; i++) bytes[i * width + plane] = planes[start + i];
  }
  return new Type(bytes.buffer);
}

/**
 * The columns that are unpacked when they are asked for, by name.
 * @returns {Map<string, PackedColumn>}
 */
export function furtherColumns() {
  const { names, whole, values } = description().further;
  return new Map(
    names.map((name, i) => [name, { name, kind: "number", whole: whole[i], values: values[i] }]),
  );
}

/** A column: every cell as text, and as a number or the code of a category. */
export class Column {
  /** @param {PackedColumn} packed */
  static async load(packed) {
    const values = await array(packed.kind === "number" ? packed.values : packed.codes);
    return new Column(packed, values);
  }

  /**
   * @param {{ name: string, kind: "number" | "text", whole?: boolean, texts?: string[],
   *   time?: import("./types.js").Time }} packed
   * @param {ArrayLike<number>} values
   */
  constructor({ name, kind, whole, texts, time }, values) {
    this.name = name;
    this.numeric = kind === "number";
    this.whole = Boolean(whole);
    this.time = time ?? null;
    this.texts = texts ?? []; // of the codes; none of numbers
    this.values = values;
    this.exact = !(values instanceof Float32Array); // others are rounded where they are packed
  }

  /**
   * The cell exactly, "" where it is missing.
   * @param {number} row
   */
  text(row) {
    const value = this.values[row];
    if (this.time && !Number.isNaN(value)) return this.words(value);
    if (this.numeric) return Number.isNaN(value) ? "" : String(this.exact ? value : ROUNDED(value));
    return value === MISSING ? "" : this.texts[value];
  }

  /** @param {number} row */
  missing(row) {
    const value = this.values[row];
    return this.numeric ? Number.isNaN(value) : value === MISSING;
  }

  /**
   * The cell for reading.
   * @param {number} row
   * @param {number} [most] letters
   */
  shown(row, most) {
    if (this.missing(row)) return "–";
    return this.numeric ? this.words(this.values[row]) : named(this.text(row), most);
  }

  /**
   * A number of the column for reading.
   * @param {number} value
   */
  words(value) {
    if (this.time === "clock") return clockOf(value);
    return this.time ? dateOf(value, this.whole) : rounded(value);
  }

  /**
   * The number that a text means, NaN where it means none.
   * @param {string} text
   */
  numberOf(text) {
    if (this.time) return timeOf(text.trim(), this.time);
    return text.trim() ? Number(text.trim().replace(/^(-?\d+),(\d+)$/, "$1.$2")) : NaN;
  }

  /**
   * Mark the rows whose text contains the words, or whose number is the words.
   * @param {string} words
   * @param {Uint8Array} mask
   */
  search(words, mask) {
    if (this.time) {
      for (let row = 0; row < mask.length; row++) if (this.text(row).includes(words)) mask[row] = 1;
      return;
    }
    const hits = this.numeric ? null : this.texts.map((text) => text.toLowerCase().includes(words));
    for (let row = 0; row < mask.length; row++) {
      if (hits ? hits[this.values[row]] : String(this.values[row]) === words) mask[row] = 1;
    }
  }
}
