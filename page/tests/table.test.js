// The CSV file of a selection.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Column } from "../src/data.js";
import { csvOf } from "../src/table.js";

const MISSING = 0xffffffff;

test("cells are quoted, missing ones are empty, formulas are neutralised", () => {
  const texts = ["=1+1", 'say "a, b"', "", "-2.5"];
  const words = new Column({ name: "@words", kind: "text", texts }, [0, 1, 2, 3, MISSING]);
  const numbers = new Column({ name: "value", kind: "number" }, [-1, NaN, 0.1, 1e300, 5]);
  const expected = ["'@words,value", "'=1+1,-1", '"say ""a, b""",', '"",0.1', "-2.5,1e+300", ",5"];
  assert.deepEqual(csvOf([0, 1, 2, 3, 4], [words, numbers]).trimEnd().split("\r\n"), expected);
});
