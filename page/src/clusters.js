// Clusters of an embedding: the hills of its density, and what tells each from the others.

import { mainBox } from "./geometry.js";

const FEWEST_CELLS = 24; // along a side of the histogram
const MOST_CELLS = 128;
const SMOOTHING = 2; // rounds
// A hill counts where its top is this many times as high as the saddle to a higher one. Chosen on
// iris, digits and a Swiss roll: 3, 10 and 1 to 4 hills.
const PROMINENCE = 1.5;
const SMALLEST = 0.01; // share of the points
const FEWEST = 5; // points

/**
 * The hill that every point is on, -1 for those on none; hills are numbered from the largest.
 * @param {Float32Array} places
 * @returns {{ labels: Int32Array, count: number }}
 */
export function clustersOf(places) {
  const n = places.length / 2;
  const box = mainBox(places);
  const cells = Math.round(Math.min(Math.max(1.5 * Math.sqrt(n), FEWEST_CELLS), MOST_CELLS));
  const side = Math.max(box.right - box.left, box.top - box.bottom, 1e-9) / cells;
  const width = cells + 4; // two empty cells around
  const cell = new Int32Array(n);
  let heights = new Float64Array(width * width);
  for (let row = 0; row < n; row++) {
    const x = Math.floor((places[2 * row] - box.left) / side);
    const y = Math.floor((places[2 * row + 1] - box.bottom) / side);
    const inside = x >= 0 && x <= cells && y >= 0 && y <= cells;
    cell[row] = inside ? (y + 1) * width + x + 1 : -1;
    if (inside) heights[cell[row]]++;
  }
  for (let round = 0; round < SMOOTHING; round++) heights = smoothed(heights, width);
  return numbered(cell, hills(heights, width));
}

/**
 * A binomial mean over each cell and those around it.
 * @param {Float64Array<ArrayBuffer>} heights
 * @param {number} width
 */
function smoothed(heights, width) {
  let result = heights;
  for (const step of [1, width]) {
    const before = result;
    result = before.map((height, i) => (2 * height + (before[i - step] ?? 0) + (before[i + step] ?? 0)) / 4);
  }
  return result;
}

/**
 * The hill of every cell: from the top down, hills meet at saddles, and low ones join the higher.
 * @param {Float64Array} heights
 * @param {number} width
 */
function hills(heights, width) {
  const order = [...heights.keys()].filter((i) => heights[i] > 0).sort((a, b) => heights[b] - heights[a]);
  const parent = new Int32Array(heights.length).fill(-1);
  const find = (/** @type {number} */ i) => {
    while (parent[i] !== i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const i of order) {
    parent[i] = i;
    const near = [-1, 1, -width, width, -width - 1, -width + 1, width - 1, width + 1]
      .filter((step) => parent[i + step] >= 0)
      .map((step) => find(i + step))
      .sort((a, b) => heights[b] - heights[a]);
    if (!near.length) continue;
    parent[i] = near[0];
    // A hill's root is its top.
    for (const top of near.slice(1)) {
      if (find(top) !== find(i) && heights[top] < PROMINENCE * heights[i]) parent[top] = find(i);
    }
  }
  return parent.map((up, i) => (up < 0 ? -1 : find(i)));
}

/**
 * @param {Int32Array} cell of every point
 * @param {Int32Array} hill of every cell
 */
function numbered(cell, hill) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const at of cell) if (at >= 0) counts.set(hill[at], (counts.get(hill[at]) ?? 0) + 1);
  const large = [...counts.entries()]
    .filter(([, count]) => count >= Math.max(SMALLEST * cell.length, FEWEST))
    .sort((a, b) => b[1] - a[1]);
  const number = new Map(large.map(([top], place) => [top, place]));
  const labels = cell.map((at) => (at < 0 ? -1 : (number.get(hill[at]) ?? -1)));
  return { labels, count: large.length };
}
