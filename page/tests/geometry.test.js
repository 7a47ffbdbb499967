// Nearest points and loops, each against a plain evaluation.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Grid, bounds, mainBox, outside } from "../src/geometry.js";
import { random } from "./random.js";

/** Points whose x is spread a hundred times as wide as their y. */
function scattered(n, draw) {
  return Float32Array.from({ length: 2 * n }, (_, i) => (i % 2 ? 1 : 100) * (draw() - 0.5));
}

test("the grid finds the nearest point that is allowed, or none", () => {
  const draw = random(1);
  const positions = scattered(300, draw);
  const grid = new Grid(positions);
  for (let round = 0; round < 200; round++) {
    const [x, y, reach] = [110 * (draw() - 0.5), 1.2 * (draw() - 0.5), 3 * draw()];
    const allowed = (row) => row % 3 !== 0;
    const gaps = Array.from({ length: 300 }, (_, row) =>
      allowed(row) ? Math.hypot(positions[2 * row] - x, positions[2 * row + 1] - y) : Infinity,
    );
    const least = Math.min(...gaps);
    assert.equal(grid.nearest(x, y, reach, allowed), least <= reach ? gaps.indexOf(least) : -1);
  }
});

test("a loop holds the points of its square and not those of its notch", () => {
  const grid = new Grid(new Float32Array([1, 1, 5, 1, 5, 5, 9, 8, 5, 8]));
  const notched = [[0, 0], [10, 0], [10, 10], [5, 4], [0, 10]];
  assert.deepEqual(grid.within(notched).sort(), [0, 1, 3]);
});

test("points in one place are found", () => {
  const grid = new Grid(new Float32Array(20).fill(3));
  assert.notEqual(grid.nearest(3, 3, 1, () => true), -1);
  assert.deepEqual(bounds(new Float32Array(4)), { left: 0, right: 0, bottom: 0, top: 0 });
});

test("the main box leaves out what lies far from the others, and nothing else", () => {
  const draw = random(2);
  const positions = scattered(300, draw);
  assert.deepEqual(mainBox(positions), bounds(positions));
  const far = Float32Array.from([...positions, 9000, 0, 0, -80]);
  assert.deepEqual(mainBox(far), bounds(positions));
  assert.deepEqual(outside(far, mainBox(far)), [300, 301]);
  assert.deepEqual(mainBox(new Float32Array([1, 1, 1, 1, 5, 1])), {
    left: 1, right: 5, bottom: 1, top: 1,
  });
});

test("the density is that of the places where points lie densest", () => {
  const draw = random(4);
  const even = new Grid(Float32Array.from({ length: 8000 }, draw));
  assert.ok(even.density > 4000 && even.density < 6 * 4000);
  const heaped = new Grid(Float32Array.from({ length: 8000 }, (_, i) => draw() * (i < 800 ? 1 : 0.01)));
  assert.ok(heaped.density > 100 * even.density);
});
