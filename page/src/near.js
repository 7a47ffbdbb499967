// The neighbours of a point in the graph of a pane, with their distances.

import { Column } from "./data.js";
import { clipped, measureName } from "./words.js";

const MOST_SAID = 3;

/**
 * @typedef {import("./pane.js").Pane} Pane
 * @typedef {{ row: number, length: number, colour: number }} Neighbor
 */

/**
 * The neighbours of a row in the graph of a pane, the nearest first; lengths in median edges.
 * @param {import("./graph.js").Graph} graph
 * @param {number} row
 * @returns {Neighbor[]}
 */
export function nearest(graph, row) {
  const found = graph.neighbors(row).map((one) => ({ ...one, length: one.length / graph.median }));
  return found.sort((a, b) => a.length - b.length || a.row - b.row);
}

/**
 * Say over the map who is nearest to the one point that was clicked; all of them at another click.
 * @param {Pane} pane
 */
export function showNear(pane) {
  const { app, graph } = pane;
  const button = pane.find(".near");
  button.hidden = !graph || app.ends.length !== 1;
  if (!graph || button.hidden) return;
  const found = nearest(graph, app.ends[0]);
  const words = found
    .slice(0, MOST_SAID)
    .map(({ row, length }) => `${clipped(app.ids.text(row), 24)} (${length.toPrecision(2)})`);
  button.textContent = `Nearest to A: ${words.join(", ")} \u00b7 all ${found.length}`;
}

/**
 * Select the neighbours of the point that was clicked, and show in the table how far they are.
 * @param {Pane} pane
 */
export function selectNear({ app, graph, view }) {
  const [row] = app.ends;
  if (!graph || row === undefined || !view) return;
  const found = nearest(graph, row);
  const name = app.nameOf(row);
  const column = (/** @type {string} */ words, /** @type {"length" | "colour"} */ part) => {
    const values = new Float64Array(app.n).fill(NaN);
    for (const one of found) values[one.row] = one[part];
    return new Column({ name: `${words} from ${name}`, kind: "number" }, values);
  };
  const away = column("distance, in median edges,", "length");
  const measure = "measure" in view.graph ? view.graph.measure : "";
  const alike = graph.lengths.every((length, edge) => length === graph.colours[edge]);
  app.select(found.map((one) => one.row));
  app.table.beside(alike ? [away] : [away, column(measureName(measure), "colour")]);
}
