// Dates are numbers that are read and written as dates.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Scale, coloringOf } from "../src/coloring.js";
import { Column } from "../src/data.js";
import { clockOf, dateOf, timeOf } from "../src/dates.js";
import { narrow } from "../src/query.js";

test("days since 1970 are dates, and back", () => {
  assert.equal(dateOf(0, true), "1970-01-01");
  assert.equal(dateOf(19782, true), "2024-02-29");
  assert.equal(dateOf(19782.5, false), "2024-02-29 12:00");
  assert.equal(dateOf(-1, true), "1969-12-31");
  assert.equal(timeOf("2024-02-29", "day"), 19782);
  assert.equal(timeOf("2024-02-29 12:00", "day"), 19782.5);
  assert.equal(timeOf("2024-03", "day"), 19783);
  assert.equal(timeOf("2024", "day"), 19723);
  assert.ok(Number.isNaN(timeOf("soon", "day")));
});

test("hours are times of the day, and back", () => {
  assert.equal(clockOf(9.5), "09:30");
  assert.equal(clockOf(23 + 59 / 60 + 58 / 3600), "23:59:58");
  assert.equal(timeOf("9:30", "clock"), 9.5);
  assert.ok(Number.isNaN(timeOf("2024-01-01", "clock")));
});

test("a column of dates is a scale with the words of dates, also of a few", () => {
  const column = new Column({ name: "day", kind: "number", whole: true, time: "day" }, Float64Array.of(0, 31, NaN, 59));
  const scale = coloringOf(column);
  assert.ok(scale instanceof Scale);
  assert.deepEqual([0, 1].map((share) => scale.words(scale.at(share))), ["1970-01-01", "1970-03-01"]);
  assert.deepEqual([0, 1, 2].map((row) => column.text(row)), ["1970-01-01", "1970-02-01", ""]);
  const mask = new Uint8Array(4).fill(1);
  assert.ok(narrow({ name: "day", sign: ">=", value: "1970-02" }, column, mask));
  assert.deepEqual([...mask], [0, 1, 0, 1]);
  const found = new Uint8Array(4);
  column.search("1970-02", found);
  assert.deepEqual([...found], [0, 1, 0, 0]);
});
