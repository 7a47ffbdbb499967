// What is seen, as a picture (PNG) or as a drawing (SVG).

import { Classes, Scale } from "./coloring.js";
import { css, edgeColor } from "./colors.js";
import { shaftOf } from "./loadings.js";
import { named, penOf, viewName } from "./words.js";

const HEAD = 30; // pixels above a pane, for its name
const GAP = 14;
const MOST_DRAWN = 20_000; // points as circles; more are a picture within the drawing
const MOST_ENTRIES = 24; // of the legend
const LINE = 20; // pixels, of the legend
const FONT = "system-ui, sans-serif";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./pane.js").Pane} Pane
 */

/**
 * All panes side by side, with their names and the legend.
 * @param {App} app
 * @returns {HTMLCanvasElement}
 */
export function pictureOf(app) {
  const { width, height, frames, entries } = laidOut(app);
  const ratio = app.panes[0].ratio;
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = penOf(canvas);
  pen.scale(ratio, ratio);
  pen.fillStyle = app.paper;
  pen.fillRect(0, 0, width, height);
  pen.textBaseline = "middle";
  for (const { pane, x, name } of frames) {
    pen.fillStyle = app.ink;
    pen.font = `600 13px ${FONT}`;
    pen.fillText(name, x + 8, HEAD / 2);
    pane.draw(performance.now()); // what was drawn before is gone
    for (const layer of [pane.canvas, pane.over]) {
      pen.drawImage(layer, x, HEAD, pane.width, pane.height);
    }
  }
  pen.font = `12px ${FONT}`;
  for (const { x, y, color, label } of entries) {
    pen.fillStyle = color;
    pen.beginPath();
    pen.arc(x + 6, y, 5, 0, 2 * Math.PI);
    pen.fill();
    pen.fillStyle = app.ink;
    pen.fillText(label, x + 16, y);
  }
  return canvas;
}

/**
 * The same as a drawing, whose points, edges, paths and words are shapes.
 * @param {App} app
 * @returns {string}
 */
export function drawingOf(app) {
  const { width, height, frames, entries } = laidOut(app);
  const parts = frames.map(({ pane, x, name }, i) => {
    const clip = `<clipPath id="pane-${i}"><rect width="${pane.width}" height="${pane.height}"/></clipPath>`;
    const title = `<text x="${x + 8}" y="20" font-weight="600" font-size="13">${escaped(name)}</text>`;
    const inner = [points(pane), edges(pane), path(pane), loadings(pane), words(pane)].join("");
    return `${clip}${title}<g transform="translate(${x} ${HEAD})" clip-path="url(#pane-${i})">${inner}</g>`;
  });
  const legend = entries.map(
    ({ x, y, color, label }) =>
      `<circle cx="${x + 6}" cy="${y}" r="5" fill="${color}"/>` +
      `<text x="${x + 16}" y="${y + 4}" font-size="12">${escaped(label)}</text>`,
  );
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}" font-family="${FONT}" fill="${app.ink}">` +
    `<rect width="${width}" height="${height}" fill="${app.paper}"/>${parts.join("")}${legend.join("")}</svg>\n`
  );
}

/**
 * Where panes and the entries of the legend go.
 * @param {App} app
 */
function laidOut(app) {
  let x = 0;
  const frames = app.panes.map((pane) => {
    const frame = { pane, x, name: pane.view ? `${app.title}: ${viewName(pane.view)}` : app.title };
    x += pane.width + GAP;
    return frame;
  });
  const width = Math.max(x - GAP, 1);
  const bottom = HEAD + Math.max(...app.panes.map((pane) => pane.height)) + LINE;
  let [left, top] = [8, bottom];
  const entries = legendOf(app).map(({ label, color }) => {
    const long = 30 + 7 * label.length;
    if (left + long > width && left > 8) [left, top] = [8, top + LINE];
    const entry = { x: left, y: top, color, label };
    left += long;
    return entry;
  });
  return { width: Math.round(width), height: Math.round(top + LINE), frames, entries };
}

/** @param {App} app */
function legendOf({ coloring, theme, layers }) {
  if (layers.trust) return [];
  if (coloring instanceof Classes) {
    const shown = coloring.entries.filter((entry) => entry.shown);
    return shown
      .slice(0, MOST_ENTRIES)
      .map((entry) => ({ label: named(entry.label, 40), color: css(entry.color(theme)) }));
  }
  if (!(coloring instanceof Scale)) return [];
  return [0, 0.5, 1].map((share) => ({
    label: coloring.words(coloring.at(share)),
    color: css(coloring.color(share, theme)),
  }));
}

/** @param {Pane} pane */
function points(pane) {
  const seen = [];
  for (let row = 0; row < pane.n; row++) {
    if (!pane.colors[4 * row + 3]) continue;
    const [x, y] = pane.toScreen(pane.place(row));
    if (x > -10 && y > -10 && x < pane.width + 10 && y < pane.height + 10) seen.push({ row, x, y });
  }
  if (seen.length > MOST_DRAWN) {
    pane.draw(performance.now());
    const size = `width="${pane.width}" height="${pane.height}"`;
    return `<image ${size} href="${pane.canvas.toDataURL("image/png")}"/>`;
  }
  const radius = (pane.pointSize() / 2).toFixed(2);
  return seen
    .map(({ row, x, y }) => {
      const [r, g, b, alpha] = pane.colors.subarray(4 * row, 4 * row + 4);
      const fill = `fill="rgb(${r},${g},${b})" fill-opacity="${((pane.app.look.opacity * alpha) / 255).toFixed(2)}"`;
      return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}" ${fill}/>`;
    })
    .join("");
}

/** @param {Pane} pane */
function edges(pane) {
  const { count } = pane.edgesShown();
  if (!count || !pane.graph) return "";
  const { order, scale } = pane.graph.ranking;
  const { lows, highs, colours } = pane.graph;
  return Array.from(order.subarray(0, count), (edge) => {
    const [from, to] = [lows[edge], highs[edge]].map((row) => pane.toScreen(pane.place(row)));
    const level = scale.share(colours[edge]);
    const ends = `x1="${from[0].toFixed(1)}" y1="${from[1].toFixed(1)}" x2="${to[0].toFixed(1)}" y2="${to[1].toFixed(1)}"`;
    return `<line ${ends} stroke="${css(edgeColor(level, pane.app.theme))}" stroke-width="${(0.7 + 1.5 * level).toFixed(1)}"/>`;
  }).join("");
}

/** @param {Pane} pane */
function path(pane) {
  if (!pane.path) return "";
  const places = pane.path.rows.map((row) => pane.toScreen(pane.place(row)).map((at) => at.toFixed(1)).join());
  return `<polyline points="${places.join(" ")}" fill="none" stroke="${pane.app.ink}" stroke-width="2.5"/>`;
}

/** @param {Pane} pane */
function loadings({ app, moved }) {
  return moved
    .map(({ from, to, name, at: [x, y] }) => {
      const halo = `stroke="${app.paper}" stroke-width="4" paint-order="stroke"`;
      const shaft = `<path d="${shaftOf(from, to)}" fill="none" stroke="${app.ink}" stroke-width="2"/>`;
      return `${shaft}<text x="${x.toFixed(1)}" y="${(y + 4).toFixed(1)}" font-size="12" ${halo}>${escaped(name)}</text>`;
    })
    .join("");
}

/** @param {Pane} pane */
function words(pane) {
  return pane.placed
    .map(({ label, left, top, height, size, opacity }) => {
      const style = `font-size="${size}" font-weight="600" opacity="${opacity.toFixed(2)}"`;
      const halo = `stroke="${pane.app.paper}" stroke-width="4" paint-order="stroke"`;
      return `<text x="${left}" y="${top + 0.78 * height}" ${style} ${halo}>${escaped(label.text)}</text>`;
    })
    .join("");
}

/** @param {string} text */
function escaped(text) {
  /** @type {Record<string, string>} */
  const signs = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  // What XML has no characters for is left out.
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]/g, "").replace(/[&<>"]/g, (sign) => signs[sign]);
}
