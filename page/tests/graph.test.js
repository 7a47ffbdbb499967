// The graph of a view: neighbours, ranking and shortest paths.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Graph } from "../src/graph.js";
import { random } from "./random.js";

/** A random graph, every edge once from the smaller end, and its matrix of lengths. */
function drawn(n, share, seed) {
  const draw = random(seed);
  const matrix = Array.from({ length: n }, () => new Array(n).fill(Infinity));
  const [degrees, targets, lengths] = [new Uint32Array(n), [], []];
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      if (draw() > share) continue;
      degrees[i]++;
      targets.push(j);
      lengths.push(Math.fround(draw()));
      matrix[i][j] = matrix[j][i] = lengths.at(-1);
    }
  }
  const values = Float32Array.from(lengths);
  return { graph: new Graph(degrees, Uint32Array.from(targets), values, values), matrix };
}

test("paths are as short as Floyd and Warshall's", () => {
  const n = 24;
  const { graph, matrix } = drawn(n, 0.12, 3);
  const best = matrix.map((row, i) => row.map((value, j) => (i === j ? 0 : value)));
  for (let k = 0; k < n; k++) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) best[i][j] = Math.min(best[i][j], best[i][k] + best[k][j]);
    }
  }
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      const path = graph.path(i, j);
      if (best[i][j] === Infinity) assert.equal(path, null);
      else assert.ok(Math.abs(path.length - best[i][j]) < 1e-9);
    }
  }
});

test("every edge is known from both of its ends", () => {
  const { graph, matrix } = drawn(15, 0.3, 5);
  for (let row = 0; row < 15; row++) {
    const found = graph.neighbors(row).map((one) => one.row).sort((a, b) => a - b);
    assert.deepEqual(found, [...matrix[row].keys()].filter((j) => matrix[row][j] < Infinity));
  }
});

test("edges are ranked by their values, the largest first", () => {
  const { graph } = drawn(20, 0.4, 7);
  const { order, values } = graph.ranking;
  assert.deepEqual([...order].map((edge) => graph.colours[edge]), [...values]);
  assert.deepEqual([...values], [...graph.colours].sort((a, b) => b - a));
});
