// Rows in an address, ways of the keyboard, and the bytes of a Parquet file.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Column } from "../src/data.js";
import { parquetOf } from "../src/parquet.js";
import { numbers, ranges } from "../src/state.js";
import { towards } from "../src/walking.js";
import { random } from "./random.js";

test("rows survive the way through an address", () => {
  assert.equal(ranges([3, 4, 5, 9]), "3-5.9");
  for (const rows of [[], [0], [0, 1], [1, 3, 5], [2, 3, 4, 8, 10, 11]]) {
    assert.deepEqual(numbers(ranges(rows), 100), rows);
  }
});

test("what is no row, or beyond the last, is left out", () => {
  assert.deepEqual(numbers("1.x.-3.7-5.2-1e9.4-99", 6), [1, 4, 5]);
  assert.deepEqual(numbers(null, 6), []);
});

test("every point is ahead in one of four directions, so that arrows lead anywhere", () => {
  const draw = random(9);
  const places = Float32Array.from({ length: 120 }, draw);
  const keys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
  const reached = new Set([0]);
  for (const row of reached) {
    for (const key of keys) {
      const next = towards(places, row, key, () => true);
      if (next >= 0) reached.add(next);
    }
  }
  assert.ok(reached.size > 50, `${reached.size} of 60`); // the others have the keys N and P
});

test("a Parquet file begins and ends as one", () => {
  const column = new Column({ name: "a", kind: "number" }, [1.5, NaN]);
  const bytes = parquetOf([0, 1], [column]);
  const ends = [bytes.slice(0, 4), bytes.slice(-4)].map((some) => new TextDecoder().decode(some));
  assert.deepEqual(ends, ["PAR1", "PAR1"]);
});
