// Words on the map: names of classes or clusters, placed where they cover each other nowhere.

import { Classes } from "./coloring.js";
import { clustersOf } from "./clusters.js";
import { boxesOf } from "./loadings.js";
import { MOST_LETTERS, namesOf } from "./telling.js";
import { named } from "./words.js";

const MOST_ROWS = 50_000; // that are looked at
const [SMALLEST, LARGEST] = [11, 16]; // pixels of a letter
const CLEAR = 30; // pixels that what is labelled spans, from which on its label is not faint
const FAINTEST = 0.7;
const TOO_NEAR = 4; // times the pane, from which on a label fades
const GAP = 3; // pixels between labels

/**
 * @typedef {import("./pane.js").Pane} Pane
 * @typedef {import("./types.js").Label} Label
 * @typedef {import("./types.js").Placed} Placed
 * @typedef {import("./types.js").Place} Place
 * @typedef {import("./types.js").Rectangle} Rectangle
 */

/**
 * The labels of a pane, the largest first.
 * @param {Pane} pane
 * @returns {Label[]}
 */
export function labelsOf(pane) {
  const { app } = pane;
  const { coloring } = app;
  if (app.layers.words === "clusters") {
    const clusters = clustersOf(pane.places);
    const names = namesOf(clusters, [...app.columns, ...app.strong], app.text);
    return located(pane.places, clusters.labels, names);
  }
  if (app.layers.words !== "classes" || !(coloring instanceof Classes)) return [];
  const names = coloring.entries.map((entry) => (entry.rest ? "" : entry.label));
  return located(pane.places, coloring.places, names, (group) => coloring.entries[group].shown);
}

/**
 * Where each group of points is: the middle of its densest part.
 * @param {Float32Array} places
 * @param {ArrayLike<number>} groups of every point
 * @param {string[]} names of groups
 * @param {(group: number) => boolean} shown
 * @returns {Label[]}
 */
function located(places, groups, names, shown = (group) => group >= 0) {
  /** @type {number[][]} */
  const members = names.map(() => []);
  const every = Math.max(1, Math.floor(groups.length / MOST_ROWS));
  for (let row = 0; row < groups.length; row += every) {
    const group = groups[row];
    if (group >= 0 && names[group] && shown(group)) members[group].push(row);
  }
  return members
    .flatMap((rows, group) => (rows.length ? [{ text: named(names[group], MOST_LETTERS), ...middle(places, rows) }] : []))
    .sort((a, b) => b.count - a.count);
}

/**
 * The middle of the half of the points that lie nearest to their median, twice.
 * @param {Float32Array} places
 * @param {number[]} rows
 */
export function middle(places, rows) {
  let near = rows;
  let [x, y] = [0, 0];
  let spread = 0;
  for (let round = 0; round < 3; round++) {
    x = median(near.map((row) => places[2 * row]));
    y = median(near.map((row) => places[2 * row + 1]));
    const gap = (/** @type {number} */ row) => Math.hypot(places[2 * row] - x, places[2 * row + 1] - y);
    const gaps = near.map(gap);
    const half = median(gaps);
    if (round === 0) spread = half;
    near = near.filter((_, i) => gaps[i] <= half);
  }
  return { x, y, spread, count: rows.length };
}

/** @param {number[]} values */
function median(values) {
  return Float64Array.from(values).sort()[values.length >> 1];
}

/**
 * Where labels go on the screen; one that finds no room is left out until there is more.
 * @param {Label[]} labels
 * @param {Pick<Pane, "width" | "height" | "camera" | "toScreen">} pane
 * @param {(text: string, size: number) => number} widthOf
 * @param {Rectangle[]} taken where none may be
 * @returns {Placed[]}
 */
export function placedLabels(labels, pane, widthOf, taken = []) {
  /** @type {Placed[]} */
  const placed = [];
  const most = Math.max(...labels.map(({ count }) => count), 1);
  const reach = Math.max(pane.width, pane.height);
  for (const label of labels) {
    const span = 2 * label.spread * pane.camera.zoom;
    const opacity = Math.min(
      FAINTEST + (1 - FAINTEST) * Math.min(span / CLEAR, 1),
      Math.min(Math.max(2 - span / (TOO_NEAR * reach), 0), 1),
    );
    if (opacity <= 0) continue;
    const size = Math.round(SMALLEST + (LARGEST - SMALLEST) * Math.sqrt(label.count / most));
    const [width, height] = [widthOf(label.text, size), size * 1.25];
    const [x, y] = pane.toScreen([label.x, label.y]);
    // In the midst of points that span more than the letters, else beside them.
    const beside = [[0, -1], [0, 1], [0.6, 0], [-0.6, 0], [0, -2], [0, 2], [0.6, -1], [-0.6, 1]];
    for (const [across, up] of span > height ? [[0, 0], ...beside] : beside) {
      const wished = x - width / 2 + across * width + Math.sign(across) * 6;
      // Moved into the pane as long as it stays over its place.
      const inside = Math.max(2, Math.floor(Math.min(wished, pane.width - width - 2)));
      const left = Math.round(!across && inside <= x && x <= inside + width ? inside : wished);
      const top = Math.round(y - height / 2 + up * height);
      const one = { label, left, top, width, height, size, opacity };
      if (!within(one, pane) || [...taken, ...placed].some((other) => overlap(one, other))) continue;
      placed.push(one);
      break;
    }
  }
  return placed;
}

/**
 * @param {Rectangle} one
 * @param {{ width: number, height: number }} pane
 */
function within({ left, top, width, height }, pane) {
  return left >= 2 && top >= 2 && left + width <= pane.width - 2 && top + height <= pane.height - 2;
}

/**
 * @param {Rectangle} a
 * @param {Rectangle} b
 */
function overlap(a, b) {
  return (
    a.left < b.left + b.width + GAP &&
    b.left < a.left + a.width + GAP &&
    a.top < b.top + b.height + GAP &&
    b.top < a.top + a.height + GAP
  );
}

/**
 * Draw the labels of a pane, and keep where they are.
 * @param {Pane} pane
 * @param {CanvasRenderingContext2D} pen
 */
export function drawLabels(pane, pen) {
  pane.placed = [];
  if (!pane.labels.length || pane.share < 1) return;
  const font = (/** @type {number} */ size) => `600 ${size}px system-ui, sans-serif`;
  const widthOf = (/** @type {string} */ text, size = SMALLEST) => {
    pen.font = font(size);
    return pen.measureText(text).width;
  };
  pane.placed = placedLabels(pane.labels, pane, widthOf, boxesOf(pane));
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  for (const { label, left, top, height, size, opacity } of pane.placed) {
    pen.font = font(size);
    pen.globalAlpha = opacity;
    pen.lineWidth = 4;
    pen.strokeStyle = pane.app.paper;
    pen.strokeText(label.text, left, top + height / 2);
    pen.fillStyle = pane.app.ink;
    pen.fillText(label.text, left, top + height / 2);
  }
  pen.globalAlpha = 1;
}
