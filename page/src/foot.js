// The words below a pane.

import { counted, rounded } from "./words.js";

/** @typedef {import("./pane.js").Pane} Pane */

/**
 * Say below the pane what it shows.
 * @param {Pane} pane
 */
export function describePane(pane) {
  const { view } = pane;
  const parts = pathWords(pane);
  parts.push(`trust ${pane.meanTrust.toFixed(2)}`, `${counted(view.graph.edges)} edges`);
  if (!("degrees" in view.graph)) parts.push("too many for this page");
  const shown = pane.edgesShown();
  if (shown.count) parts.push(`${counted(shown.count)} shown, from ${rounded(shown.from)}`);
  const foot = pane.find(".pane-foot");
  foot.textContent = [...parts, ...view.notes].join(" \u00b7 ");
  foot.title = foot.textContent;
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
