// What is found out once and kept: the layouts of places, and the graphs of views.

import { Grid, mainBox, outside } from "./geometry.js";
import { Graph } from "./graph.js";

/**
 * @typedef {import("./types.js").PackedEdges} PackedEdges
 * @typedef {{ box: import("./types.js").Box, beyond: number[], grid?: Grid }} Layout
 */

/** @type {WeakMap<Float32Array, Layout>} */
const layouts = new WeakMap();

/**
 * The rectangle of most places, and the rows beyond it.
 * @param {Float32Array} places
 */
export function layoutOf(places) {
  const known = layouts.get(places);
  if (known) return known;
  const box = mainBox(places);
  /** @type {Layout} */
  const layout = { box, beyond: outside(places, box) };
  layouts.set(places, layout);
  return layout;
}

/**
 * Points sorted into cells.
 * @param {Float32Array} places
 */
export function gridOf(places) {
  const layout = layoutOf(places);
  layout.grid ??= new Grid(places);
  return layout.grid;
}

/** @type {Map<string, Promise<Graph>>} */
const graphs = new Map();

/**
 * Views share graphs where their arrays are the same.
 * @param {PackedEdges} packed
 * @returns {Promise<Graph>}
 */
export function graphOf(packed) {
  const key = [packed.degrees, packed.targets, packed.lengths, packed.colours].join();
  const found = graphs.get(key) ?? Graph.load(packed);
  graphs.set(key, found);
  return found;
}
