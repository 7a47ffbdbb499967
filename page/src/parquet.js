// Parquet files (version 1: plain, uncompressed, one group of rows), of numbers and text.

const [INT64, DOUBLE, BYTE_ARRAY] = [2, 5, 6]; // types of values
const [UTF8, OPTIONAL, PLAIN, RLE] = [0, 1, 0, 3];
const [I32, I64, BINARY, LIST, STRUCT] = [5, 6, 8, 9, 12]; // types of Thrift's compact protocol
const MAGIC = [80, 65, 82, 49]; // PAR1

/**
 * @typedef {import("./data.js").Column} Column
 * @typedef {{ name: string, type: number, start: number, length: number }} Chunk
 * @typedef {number | string | Uint8Array | ListOf} Value of Thrift's compact protocol
 * @typedef {{ kind: number, items: Value[] }} ListOf
 * @typedef {[number, number, Value]} Field its number, its type and its value
 */

/**
 * Some rows of columns as the bytes of a Parquet file. A missing cell is null.
 * @param {number[]} rows
 * @param {Column[]} columns
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function parquetOf(rows, columns) {
  const file = new Bytes();
  file.put(MAGIC);
  const chunks = columns.map((column) => {
    const type = typeOf(rows, column);
    const page = pageOf(rows, column, type);
    const start = file.size;
    file.put(header(page.length, rows.length));
    file.put(page);
    return { name: column.name, type, start, length: file.size - start };
  });
  const footer = metadata(chunks, rows.length);
  file.put(footer);
  file.fixed(footer.length);
  file.put(MAGIC);
  return file.done();
}

/**
 * The type of a column's values. Infinity is none of the whole numbers.
 * @param {number[]} rows
 * @param {Column} column
 */
function typeOf(rows, column) {
  if (!column.numeric || column.time) return BYTE_ARRAY;
  const whole = column.whole && rows.every((row) => column.missing(row) || Number.isFinite(column.values[row]));
  return whole ? INT64 : DOUBLE;
}

/**
 * Which cells are there, by one bit each, and then the values of those.
 * @param {number[]} rows
 * @param {Column} column
 * @param {number} type
 */
function pageOf(rows, column, type) {
  const levels = new Bytes();
  levels.number(BigInt((Math.ceil(rows.length / 8) << 1) | 1)); // groups of eight bits
  for (let start = 0; start < rows.length; start += 8) {
    let bits = 0;
    rows.slice(start, start + 8).forEach((row, i) => (bits |= column.missing(row) ? 0 : 1 << i));
    levels.put([bits]);
  }
  const page = new Bytes();
  page.fixed(levels.size);
  page.put(levels.done());
  for (const row of rows) {
    if (column.missing(row)) continue;
    if (type === BYTE_ARRAY) {
      const text = new TextEncoder().encode(column.text(row));
      page.fixed(text.length);
      page.put(text);
    } else page.value(column.values[row], type === INT64);
  }
  return page.done();
}

/**
 * @param {number} size
 * @param {number} count
 */
function header(size, count) {
  const values = struct([[1, I32, count], [2, I32, PLAIN], [3, I32, RLE], [4, I32, RLE]]);
  return struct([[1, I32, 0], [2, I32, size], [3, I32, size], [5, STRUCT, values]]);
}

/**
 * @param {Chunk[]} chunks
 * @param {number} count
 */
function metadata(chunks, count) {
  const schema = chunks.map(({ name, type }) =>
    struct([
      [1, I32, type],
      [3, I32, OPTIONAL],
      [4, BINARY, name],
      ...(type === BYTE_ARRAY ? /** @type {Field[]} */ ([[6, I32, UTF8]]) : []),
    ]),
  );
  const root = struct([[4, BINARY, "schema"], [5, I32, chunks.length]]);
  const groups = chunks.map(({ name, type, start, length }) => {
    const own = struct([
      [1, I32, type],
      [2, LIST, { kind: I32, items: [PLAIN, RLE] }],
      [3, LIST, { kind: BINARY, items: [name] }],
      [4, I32, 0],
      [5, I64, count],
      [6, I64, length],
      [7, I64, length],
      [9, I64, start],
    ]);
    return struct([[2, I64, start], [3, STRUCT, own]]);
  });
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  const group = struct([[1, LIST, { kind: STRUCT, items: groups }], [2, I64, size], [3, I64, count]]);
  return struct([
    [1, I32, 1],
    [2, LIST, { kind: STRUCT, items: [root, ...schema] }],
    [3, I64, count],
    [4, LIST, { kind: STRUCT, items: [group] }],
    [6, BINARY, "patchfold"],
  ]);
}

/**
 * A structure of Thrift's compact protocol, its fields in rising order.
 * @param {Field[]} fields
 */
function struct(fields) {
  const bytes = new Bytes();
  let before = 0;
  for (const [number, type, value] of fields) {
    bytes.put([((number - before) << 4) | type]);
    before = number;
    bytes.thrift(value);
  }
  bytes.put([0]);
  return bytes.done();
}

/** Bytes one after the other. */
class Bytes {
  constructor() {
    this.bytes = new Uint8Array(1024);
    this.size = 0;
  }

  /** @param {ArrayLike<number>} values */
  put(values) {
    if (this.size + values.length > this.bytes.length) {
      const larger = new Uint8Array(2 * (this.size + values.length));
      larger.set(this.bytes.subarray(0, this.size));
      this.bytes = larger;
    }
    this.bytes.set(values, this.size);
    this.size += values.length;
  }

  /**
   * Four bytes, the lowest first.
   * @param {number} value
   */
  fixed(value) {
    this.put(new Uint8Array(Uint32Array.of(value).buffer));
  }

  /**
   * Eight bytes of a whole or a floating point number.
   * @param {number} value
   * @param {boolean} whole
   */
  value(value, whole) {
    const eight = new DataView(new ArrayBuffer(8));
    if (whole) eight.setBigInt64(0, BigInt(value), true);
    else eight.setFloat64(0, value, true);
    this.put(new Uint8Array(eight.buffer));
  }

  /**
   * A number by seven bits a byte.
   * @param {bigint} value
   */
  number(value) {
    for (; value > 127n; value >>= 7n) this.put([Number(value & 127n) | 128]);
    this.put([Number(value)]);
  }

  /** @param {Value} value */
  thrift(value) {
    if (typeof value === "number") this.number(BigInt(value) << 1n); // none is negative
    else if (typeof value === "string") {
      const text = new TextEncoder().encode(value);
      this.number(BigInt(text.length));
      this.put(text);
    } else if (value instanceof Uint8Array) this.put(value);
    else {
      const { kind, items } = value;
      this.put(items.length < 15 ? [(items.length << 4) | kind] : [0xf0 | kind]);
      if (items.length >= 15) this.number(BigInt(items.length));
      for (const item of items) this.thrift(item);
    }
  }

  done() {
    return this.bytes.slice(0, this.size);
  }
}
