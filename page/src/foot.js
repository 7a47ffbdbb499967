// The words below panes, and beside the switch of the edges.

import { edgeColor, gradient } from "./colors.js";
import { showNear } from "./near.js";
import { byId, counted, measureName, rounded, spanOf } from "./words.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./pane.js").Pane} Pane
 */

/**
 * Say what edges are coloured by, how many are shown and what their colours mean.
 * @param {App} app
 */
export function describeEdges({ panes, theme }) {
  const measures = panes.flatMap((pane) => measureOf(pane) ?? []);
  byId("measure").textContent = [...new Set(measures)].map(measureName).join(" | ");
  const counts = panes.map((pane) => counted(pane.edgesShown().count));
  byId("threshold-value").textContent = [...new Set(counts)].join(" | ");
  byId("edge-bar").style.background = gradient(edgeColor, theme);
  byId("edge-scales").replaceChildren(...edgeScales(panes));
}

/** @param {Pane} pane */
function measureOf({ view }) {
  return view && "measure" in view.graph ? view.graph.measure : null;
}

/**
 * What the ends of the colours of edges stand for, in each pane where they differ.
 * @param {Pane[]} panes
 */
function edgeScales(panes) {
  const scales = panes.map((pane) => {
    const measure = measureOf(pane);
    if (!pane.drawable || !pane.graph || measure === null) return null;
    const { low, high } = pane.graph.ranking.scale;
    return { measure: measureName(measure), low: rounded(low), high: rounded(high) };
  });
  const alike = new Set(scales.map((scale) => JSON.stringify(scale))).size === 1;
  return (alike ? scales.slice(0, 1) : scales).flatMap((scale, place) => {
    if (!scale) return [];
    const line = document.createElement("p");
    line.className = "ends";
    const { measure, low, high } = scale;
    const middle = alike ? "" : `${["first", "second"][place]} pane: ${measure}`;
    line.append(...[low, middle, high].map((words) => spanOf(words)));
    return [line];
  });
}

/**
 * Say below the pane what it shows.
 * @param {Pane} pane
 */
export function describePane(pane) {
  const { view } = pane;
  if (!view) return;
  const parts = pathWords(pane);
  parts.push(`trust ${pane.meanTrust.toFixed(2)}`, `${counted(view.graph.edges)} edges`);
  if (!("degrees" in view.graph)) parts.push("too many for this page");
  const shown = pane.edgesShown();
  if (shown.count) parts.push(`${counted(shown.count)} shown, from ${rounded(shown.from)}`);
  const foot = pane.find(".pane-foot");
  const words = [...parts, ...view.notes].join(" \u00b7 ");
  foot.title = words;
  foot.textContent = words;
  showNear(pane);
}

/** @param {Pane} pane */
function pathWords({ app, graph, path }) {
  if (!graph || app.ends.length < 2) return [];
  if (!path) return ["no path"];
  const steps = path.rows.length - 1;
  const words = `path: ${steps} ${steps === 1 ? "step" : "steps"}`;
  // In this unit the graphs of two panes can be compared, whatever their edges measure.
  return [`${words}, length ${rounded(path.length / graph.median)} median edges`];
}
