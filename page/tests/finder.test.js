// Columns are found by their names.

import assert from "node:assert/strict";
import { test } from "node:test";

import { foundAmong } from "../src/finder.js";

const NAMES = ["ACD4", "CD74", "cd3d", "CD8A", "XCD1"];

test("names that begin with the letters come first, and else the order stays", () => {
  assert.deepEqual(foundAmong(NAMES, " CD "), ["CD74", "cd3d", "CD8A", "ACD4", "XCD1"]);
  assert.deepEqual(foundAmong(NAMES, "d4"), ["ACD4"]);
  assert.deepEqual(foundAmong(NAMES, "none"), []);
});

test("without letters the list begins with the first names, and has no more than twelve", () => {
  const many = Array.from({ length: 5000 }, (_, i) => `gene ${i}`);
  assert.deepEqual(foundAmong(many, ""), many.slice(0, 12));
  assert.equal(foundAmong(many, "7").length, 12);
  assert.ok(foundAmong(many, "ne 777").includes("gene 777"));
});
