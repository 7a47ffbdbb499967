// Which features move points, and the arrows for it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { arrowsOf, shaftOf, strongest, withWords } from "../src/loadings.js";

// Two features of each of three rows, with codes from 0 to 254 around 127.
const packed = {
  features: [4, 2, 4, 0, 2, 0],
  longest: [2, 4, 0],
  moves: [254, 127, 127, 64, 0, 127, 127, 254, 127, 127, 127, 127],
};

test("a row has its own moves, the strongest first", () => {
  const [first, second] = strongest(packed, [0]);
  assert.deepEqual(first, { feature: 4, x: 2, y: 0, length: 2 });
  assert.equal(second.feature, 2);
  assert.ok(Math.abs(second.y + (2 * 63) / 127) < 1e-12 && second.x === 0);
});

test("several rows have the mean of their moves", () => {
  const moves = strongest(packed, [0, 1]);
  assert.deepEqual(moves.map(({ feature }) => feature), [0, 4, 2]);
  assert.deepEqual([moves[0].x, moves[0].y], [0, 2]);
  assert.deepEqual([moves[1].x, moves[1].y], [-1, 0]);
});

test("what moves nowhere is not named", () => {
  assert.deepEqual(strongest(packed, [2]), []);
  assert.deepEqual(arrowsOf([], [10, 10]), []);
});

test("the longest arrow has a fixed length, up is up, and short ones are left out", () => {
  const moves = [[3, 0], [0, 2], [0.5, 0]].map(([x, y], feature) => ({ feature, x, y, length: Math.hypot(x, y) }));
  const arrows = arrowsOf(moves, [100, 100]);
  assert.deepEqual(arrows.map(({ to }) => to), [[154, 100], [100, 64]]);
  assert.match(shaftOf(arrows[0].from, arrows[0].to), /^M100\.0 100\.0L154\.0 100\.0M/);
});

test("names are at their tips, within the pane, and not over each other", () => {
  const from = /** @type {[number, number]} */ ([60, 100]);
  const arrows = [[10, 95], [10, 99], [110, 100]].map((to, feature) => ({
    feature, from, to: /** @type {[number, number]} */ (to),
  }));
  const words = withWords(arrows, ["one", "two", "three"], { width: 120 }, () => 50);
  for (const { to, at: [left, middle] } of words) {
    const across = Math.max(left - to[0], to[0] - left - 50, 0);
    assert.ok(Math.hypot(across, Math.max(Math.abs(middle - to[1]) - 7.5, 0)) < 10);
  }
  assert.equal(words.length, 3);
  const boxes = words.map(({ at: [left, middle] }) => ({ left, top: middle - 7, width: 50, height: 14 }));
  for (const [i, a] of boxes.entries()) {
    assert.ok(a.left >= 2 && a.left + a.width <= 118);
    for (const b of boxes.slice(i + 1)) {
      const apart = a.left >= b.left + b.width || b.left >= a.left + a.width || a.top >= b.top + b.height || b.top >= a.top + a.height;
      assert.ok(apart, JSON.stringify([a, b]));
    }
  }
});

test("at the border a name beside an arrow does not lie over another", () => {
  const from = /** @type {[number, number]} */ ([130, 60]);
  const arrows = [[98, 49], [112, 55], [107, 110]].map((to, feature) => ({
    feature, from, to: /** @type {[number, number]} */ (to),
  }));
  const names = ["sepal length", "petal width", "sepal width"];
  const words = withWords(arrows, names, { width: 400 }, () => 115);
  assert.equal(words.length, 3);
  for (const { name, at: [left, middle] } of words) {
    for (const { to } of arrows) {
      const over = to[0] > left && to[0] < left + 115 && Math.abs(to[1] - middle) < 7.5;
      assert.ok(!over, `${name} hides an arrow`);
    }
  }
});
