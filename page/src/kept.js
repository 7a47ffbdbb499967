// What is found out once and kept: the layouts of places, and the graphs of views.

import { Grid, mainBox, outside } from "./geometry.js";
import { Graph } from "./graph.js";

/** @type {WeakMap<Float32Array, { box: import("./geometry.js").Box, beyond: number[], grid?: Grid }>} */
const layouts = new WeakMap();

/** The rectangle of most places, and the rows beyond it. */
export function layoutOf(places) {
  if (!layouts.has(places)) {
    const box = mainBox(places);
    layouts.set(places, { box, beyond: outside(places, box) });
  }
  return layouts.get(places);
}

/** Points sorted into cells. */
export function gridOf(places) {
  const layout = layoutOf(places);
  layout.grid ??= new Grid(places);
  return layout.grid;
}

const graphs = new Map();

/** Views share graphs where their arrays are the same. */
export function graphOf(packed) {
  const key = [packed.degrees, packed.targets, packed.lengths, packed.colours].join();
  if (!graphs.has(key)) graphs.set(key, Graph.load(packed));
  return graphs.get(key);
}
