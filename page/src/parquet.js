// Parquet files (version 1: plain, uncompressed, one group of rows), of numbers and text.

const [INT64, DOUBLE, BYTE_ARRAY] = [2, 5, 6]; // types of values
const [UTF8, OPTIONAL, PLAIN, RLE] = [0, 1, 0, 3];
const [I32, I64, BINARY, LIST, STRUCT] = [5, 6, 8, 9, 12]; // types of Thrift's compact protocol
const MAGIC = [80, 65, 82, 49]; // PAR1

/** @typedef {import("./data.js").Column} Column */

/**
 * Some rows of columns as the bytes of a Parquet file. A missing cell is null.
 * @param {number[]} rows
 * @param {Column[]} columns
 * @returns {Uint8Array}
 */
export function parquetOf(rows, columns) {
  const file = new Bytes();
  file.put(MAGIC);
  const chunks = columns.map((column) => {
    const type = !column.numeric ? BYTE_ARRAY : column.whole ? INT64 : DOUBLE;
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

/** Which cells are there, by one bit each, and then the values of those. */
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

function header(size, count) {
  const values = struct([[1, I32, count], [2, I32, PLAIN], [3, I32, RLE], [4, I32, RLE]]);
  return struct([[1, I32, 0], [2, I32, size], [3, I32, size], [5, STRUCT, values]]);
}

function metadata(chunks, count) {
  const schema = chunks.map(({ name, type }) =>
    struct([
      [1, I32, type],
      [3, I32, OPTIONAL],
      [4, BINARY, name],
      ...(type === BYTE_ARRAY ? [[6, I32, UTF8]] : []),
    ]),
  );
  const root = struct([[4, BINARY, "schema"], [5, I32, chunks.length]]);
  const groups = chunks.map(({ name, type, start, length }) => {
    const own = struct([
      [1, I32, type],
      [2, LIST, [I32, [PLAIN, RLE]]],
      [3, LIST, [BINARY, [name]]],
      [4, I32, 0],
      [5, I64, count],
      [6, I64, length],
      [7, I64, length],
      [9, I64, start],
    ]);
    return struct([[2, I64, start], [3, STRUCT, own]]);
  });
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  const group = struct([[1, LIST, [STRUCT, groups]], [2, I64, size], [3, I64, count]]);
  return struct([
    [1, I32, 1],
    [2, LIST, [STRUCT, [root, ...schema]]],
    [3, I64, count],
    [4, LIST, [STRUCT, [group]]],
    [6, BINARY, "patchfold"],
  ]);
}

/** A structure of Thrift's compact protocol, of [number, type, value] in rising order. */
function struct(fields) {
  const bytes = new Bytes();
  let before = 0;
  for (const [number, type, value] of fields) {
    bytes.put([((number - before) << 4) | type]);
    before = number;
    bytes.thrift(type, value);
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

  put(values) {
    if (this.size + values.length > this.bytes.length) {
      const larger = new Uint8Array(2 * (this.size + values.length));
      larger.set(this.bytes.subarray(0, this.size));
      this.bytes = larger;
    }
    this.bytes.set(values, this.size);
    this.size += values.length;
  }

  /** Four bytes, the lowest first. */
  fixed(value) {
    this.put(new Uint8Array(Uint32Array.of(value).buffer));
  }

  /** Eight bytes of a whole or a floating point number. */
  value(value, whole) {
    const eight = new DataView(new ArrayBuffer(8));
    if (whole) eight.setBigInt64(0, BigInt(value), true);
    else eight.setFloat64(0, value, true);
    this.put(new Uint8Array(eight.buffer));
  }

  /** A number by seven bits a byte. */
  number(value) {
    for (; value > 127n; value >>= 7n) this.put([Number(value & 127n) | 128]);
    this.put([Number(value)]);
  }

  thrift(type, value) {
    if (type === I32 || type === I64) this.number(BigInt(value) << 1n); // none is negative
    else if (type === BINARY) {
      const text = new TextEncoder().encode(value);
      this.number(BigInt(text.length));
      this.put(text);
    } else if (type === LIST) {
      const [kind, items] = value;
      this.put(items.length < 15 ? [(items.length << 4) | kind] : [0xf0 | kind]);
      if (items.length >= 15) this.number(BigInt(items.length));
      for (const item of items) this.thrift(kind, item);
    } else this.put(value);
  }

  done() {
    return this.bytes.slice(0, this.size);
  }
}
