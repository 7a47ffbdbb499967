// Conditions that are typed, filters that cross, and rows in the order of a column.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Scale } from "../src/coloring.js";
import { Column } from "../src/data.js";
import { Graph } from "../src/graph.js";
import { binned } from "../src/histogram.js";
import { nearest } from "../src/near.js";
import { conditionsOf, narrow, unknownIn } from "../src/query.js";
import { inOrder } from "../src/table.js";

const NAMES = ["weight", "age of tree", "kind", "salt and pepper"];
const nameOf = (words) => NAMES.find((name) => name === words.trim().toLowerCase()) ?? null;

test("conditions are read in either order, with two limits, and together", () => {
  assert.deepEqual(conditionsOf("Weight > 13", nameOf), [{ name: "weight", sign: ">", value: "13" }]);
  assert.deepEqual(conditionsOf("13<weight", nameOf), [{ name: "weight", sign: ">", value: "13" }]);
  assert.deepEqual(conditionsOf("2 \u2264 age of tree < 5", nameOf), [
    { name: "age of tree", sign: ">=", value: "2" },
    { name: "age of tree", sign: "<", value: "5" },
  ]);
  assert.deepEqual(conditionsOf('kind = "red" and weight != 1', nameOf), [
    { name: "kind", sign: "=", value: "red" },
    { name: "weight", sign: "!=", value: "1" },
  ]);
  assert.deepEqual(conditionsOf("salt and pepper >= 1", nameOf), [{ name: "salt and pepper", sign: ">=", value: "1" }]);
});

test("what stands in quotes is one name or one value", () => {
  const quoted = (words) => nameOf(words.trim().replaceAll('"', ""));
  assert.deepEqual(conditionsOf('kind = "R&D" and weight < 2', quoted), [
    { name: "kind", sign: "=", value: "R&D" },
    { name: "weight", sign: "<", value: "2" },
  ]);
  assert.deepEqual(conditionsOf('"salt and pepper" > 3 and kind = "a <= b"', quoted), [
    { name: "salt and pepper", sign: ">", value: "3" },
    { name: "kind", sign: "=", value: "a <= b" },
  ]);
});

test("words are no conditions", () => {
  for (const text of ["weight", "a > b", "x -> y", "weight >", "", "height > 3"]) {
    assert.equal(conditionsOf(text, nameOf), null, text);
  }
});

test("a condition leaves the rows that meet it, and no missing ones", () => {
  const weight = new Column({ name: "weight", kind: "number" }, Float64Array.of(1, 13, 14.5, NaN));
  const left = (sign, value, column = weight) => {
    const mask = new Uint8Array(4).fill(1);
    return narrow({ name: column.name, sign, value }, column, mask) ? [...mask] : null;
  };
  assert.deepEqual(left(">", "13"), [0, 0, 1, 0]);
  assert.deepEqual(left(">=", "13"), [0, 1, 1, 0]);
  assert.deepEqual(left("<", "13,5"), [1, 1, 0, 0]);
  assert.deepEqual(left("<=", "1e0"), [1, 0, 0, 0]);
  assert.deepEqual(left("=", "13"), [0, 1, 0, 0]);
  assert.deepEqual(left("!=", "13"), [1, 0, 1, 0]);
  assert.equal(left(">", "heavy"), null);
  const kind = new Column({ name: "kind", kind: "text", texts: ["Red", "blue"] }, Uint32Array.of(0, 1, 0xffffffff, 0));
  assert.deepEqual(left("=", "red", kind), [1, 0, 0, 1]);
  assert.deepEqual(left("!=", "red", kind), [0, 1, 0, 0]);
  assert.equal(left("<", "red", kind), null);
});

test("values in single precision are as they are written", () => {
  const column = new Column({ name: "gene", kind: "number" }, Float32Array.of(0.1, 0.2, 0.3));
  const left = (sign) => {
    const mask = new Uint8Array(3).fill(1);
    narrow({ name: "gene", sign, value: "0.2" }, column, mask);
    return [...mask];
  };
  assert.deepEqual([left("="), left(">"), left("<=")], [[0, 1, 0], [0, 0, 1], [1, 1, 0]]);
});

test("a histogram counts every known value once, those beyond its ends in the last bins", () => {
  const values = [0, 0.1, 5, 9.9, 10, -100, 1000, NaN];
  const bins = binned(new Scale(values, [0, 10]), () => true);
  assert.equal(bins.reduce((sum, count) => sum + count, 0), 7);
  assert.deepEqual([bins[0], bins[18], bins.at(-1)], [3, 1, 3]);
  assert.equal(binned(new Scale(values, [0, 10]), (row) => row === 2).reduce((sum, count) => sum + count, 0), 1);
});

test("rows are sorted by numbers and by names, missing ones last", () => {
  const numbers = new Column({ name: "n", kind: "number" }, Float64Array.of(2, NaN, 10, -1));
  assert.deepEqual(inOrder([0, 1, 2, 3], { column: numbers, falling: false }), [3, 0, 2, 1]);
  assert.deepEqual(inOrder([0, 1, 2, 3], { column: numbers, falling: true }), [2, 0, 3, 1]);
  const texts = new Column({ name: "t", kind: "text", texts: ["item 10", "item 9", "Alpha"] }, [0, 1, 2, 1]);
  assert.deepEqual(inOrder([0, 1, 2, 3], { column: texts, falling: false }), [2, 1, 3, 0]);
});

test("the neighbours of a copy are those of all copies, the nearest first", () => {
  // Rows 0, 3 and 4 are copies; 0 is joined to 1 and 2.
  const graph = new Graph([4, 0, 0, 0, 0], Uint32Array.of(1, 2, 3, 4), Float32Array.of(3, 1, 0, 0), Float32Array.of(5, 6, 0, 0));
  assert.deepEqual(nearest(graph, 0).map(({ row }) => row), [3, 4, 2, 1]);
  assert.deepEqual(nearest(graph, 4).map(({ row }) => row), [0, 3, 2, 1]);
  assert.deepEqual(nearest(graph, 4).map(({ colour }) => colour), [0, 0, 6, 5]);
  assert.deepEqual(nearest(graph, 1).map(({ row }) => row), [0]);
});

test("a condition on a column that is not there names it", () => {
  assert.equal(unknownIn("wieght > 13", nameOf), "wieght");
  assert.equal(unknownIn("weight > 13 and hight < 5", nameOf), "hight");
  assert.equal(unknownIn("2 <= hight < 5", nameOf), "hight");
  for (const known of ["weight > 13", "13 < weight", "2 <= weight < 5", "words", "a >", "> 3"]) {
    assert.equal(unknownIn(known, nameOf), "", known);
  }
});
