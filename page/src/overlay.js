// What is drawn over the points: the patch under the pointer, the geodesic, the lasso.

import { css, edgeColor } from "./colors.js";
import { drawLabels } from "./labels.js";
import { drawLoadings, placeLoadings } from "./loadings.js";
import { penOf } from "./words.js";

/**
 * @typedef {import("./pane.js").Pane} Pane
 * @typedef {import("./types.js").Place} Place
 * @typedef {CanvasRenderingContext2D} Pen
 */

const FLOOD = 0.3; // of the pane

/**
 * Draw the overlay of a pane anew.
 * @param {Pane} pane
 */
export function drawOverlay(pane) {
  const { app, over, ratio } = pane;
  // Without anything on it, the canvas is not even there: it would cost as much as a full one.
  const empty = app.pointed < 0 && !app.rows.length && !app.ends.length && !pane.lasso && !pane.labels.length;
  over.hidden = empty;
  if (empty) [pane.placed, pane.moved] = [[], []];
  if (empty) return;
  const pen = penOf(over);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, pane.width, pane.height);
  pane.ellipse = null;
  pen.lineJoin = "round";
  pen.lineCap = "round";
  placeLoadings(pane, pen);
  drawLabels(pane, pen);
  if (app.pointed >= 0) drawPointed(pane, pen);
  drawLoadings(pane, pen);
  if (pane.path) drawPath(pane, pen, pane.path.rows);
  app.ends.forEach((row, i) => drawEnd(pane, pen, row, "AB"[i]));
  if (pane.lasso) drawLasso(pane, pen, pane.lasso);
}

/**
 * @param {Pane} pane
 * @param {Pen} pen
 */
function drawPointed(pane, pen) {
  const { app } = pane;
  const at = pane.toScreen(pane.place(app.pointed));
  if (app.layers.patch) {
    drawNeighbors(pane, pen, at);
    if (pane.ellipses) drawEllipse(pane, pen, pane.ellipses);
  }
  circle(pen, at, pane.pointSize() / 2 + 3);
  pen.lineWidth = 2;
  pen.strokeStyle = app.ink;
  pen.stroke();
}

/**
 * @param {Pane} pane
 * @param {Pen} pen
 * @param {Place} at
 */
function drawNeighbors(pane, pen, at) {
  if (!pane.graph) return;
  const { scale } = pane.graph.ranking;
  for (const { row, colour } of pane.graph.neighbors(pane.app.pointed)) {
    const end = pane.toScreen(pane.place(row));
    pen.beginPath();
    pen.moveTo(...at);
    pen.lineTo(...end);
    pen.lineWidth = 1.2;
    // Not quite as pale as they would be among thousands of edges.
    pen.strokeStyle = css(edgeColor(0.3 + 0.7 * scale.share(colour), pane.app.theme));
    pen.stroke();
    circle(pen, end, pane.pointSize() / 2 + 1.5);
    pen.stroke();
  }
}

/**
 * @param {Pane} pane
 * @param {Pen} pen
 * @param {import("./types.js").Ellipses} ellipses
 */
function drawEllipse(pane, pen, { centres, axes, angles }) {
  const { app } = pane;
  const [i, j] = [2 * app.pointed, 2 * app.pointed + 1];
  // Two standard deviations hold most of a patch.
  const wide = (/** @type {number} */ axis) => Math.max(2 * axis * pane.camera.zoom, 1);
  /** @type {Place} */
  const half = [wide(axes[i]), wide(axes[j])];
  const centre = pane.toScreen([centres[i], centres[j]]);
  const angle = angles[app.pointed];
  pane.ellipse = { centre, half, angle };
  pen.beginPath();
  pen.ellipse(...centre, ...half, -angle, 0, 2 * Math.PI);
  // A patch that is wider than most of the pane is an outline: a wash would hide the points.
  if (half[0] < FLOOD * Math.min(pane.width, pane.height)) {
    pen.fillStyle = app.wash;
    pen.fill();
  }
  pen.lineWidth = 1.5;
  pen.strokeStyle = app.accent;
  pen.stroke();
}

/**
 * @param {Pane} pane
 * @param {Pen} pen
 * @param {number[]} rows
 */
function drawPath(pane, pen, rows) {
  pen.beginPath();
  for (const row of rows) pen.lineTo(...pane.toScreen(pane.place(row)));
  const { paper, ink } = pane.app;
  for (const { width, color } of [{ width: 5, color: paper }, { width: 2.5, color: ink }]) {
    pen.lineWidth = width;
    pen.strokeStyle = color;
    pen.stroke();
  }
}

/**
 * @param {Pane} pane
 * @param {Pen} pen
 * @param {number} row
 * @param {string} name
 */
function drawEnd(pane, pen, row, name) {
  const at = pane.toScreen(pane.place(row));
  circle(pen, at, 9);
  pen.fillStyle = pane.app.ink;
  pen.fill();
  pen.lineWidth = 2;
  pen.strokeStyle = pane.app.paper;
  pen.stroke();
  pen.fillStyle = pane.app.paper;
  pen.font = "600 11px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(name, at[0], at[1] + 0.5);
}

/**
 * @param {Pane} pane
 * @param {Pen} pen
 * @param {Place[]} loop
 */
function drawLasso(pane, pen, loop) {
  pen.beginPath();
  for (const place of loop) pen.lineTo(...pane.toScreen(place));
  pen.closePath();
  pen.fillStyle = pane.app.wash;
  pen.fill();
  pen.setLineDash([5, 4]);
  pen.lineWidth = 1.5;
  pen.strokeStyle = pane.app.accent;
  pen.stroke();
  pen.setLineDash([]);
}

/**
 * @param {Pen} pen
 * @param {Place} centre
 * @param {number} radius
 */
function circle(pen, [x, y], radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
}
