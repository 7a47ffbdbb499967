// The colours of points in the panes, and which of them are seen.

import { Scale } from "./coloring.js";
import { trustColor } from "./colors.js";

const FAINT = 0.16; // opacity of points that are not meant
const MANY = 20_000; // points, from which on they are more transparent

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./pane.js").Pane} Pane
 */

/**
 * Work out which points are visible, and paint them in some panes.
 * @param {App} app
 * @param {Pane[]} panes
 */
export function paint(app, panes) {
  const { n, coloring } = app;
  app.filters.apply(app.visible);
  const chosen = app.matches ?? (app.rows.length ? app.selected : null);
  app.faint = Boolean(chosen);
  const full = n > MANY ? 200 : 235;
  const opacity = new Uint8Array(n);
  for (let row = 0; row < n; row++) {
    const meant = !chosen || chosen[row];
    opacity[row] = app.visible[row] * (meant ? full : 255 * FAINT);
  }
  for (const pane of panes) {
    const colors = new Uint8Array(4 * n);
    const shown = app.layers.trust && pane.view ? trustScale(app.panes, pane) : coloring;
    shown.paint(colors, app.theme);
    for (let row = 0; row < n; row++) colors[4 * row + 3] = opacity[row];
    pane.setColors(colors);
  }
}

/**
 * The colours of trust: one range for all panes, so that they can be compared.
 * @param {Pane[]} panes
 * @param {Pane} [pane] whose points have these colours
 */
export function trustScale(panes, pane) {
  let least = 255;
  for (const { trust } of panes) {
    for (let row = 0; row < trust.length; row++) least = Math.min(least, trust[row]);
  }
  const values = Float32Array.from(pane?.trust ?? [], (value) => value / 255);
  return new Scale(values, [Math.min(least / 255, 0.95), 1], trustColor);
}
