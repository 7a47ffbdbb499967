// Loadings: the features that move points most, and where to.

import { array } from "./data.js";
import { clipped } from "./words.js";

const STEPS = 127; // as in loadings.py
const STRONGEST = 5; // features that are named
const MOST_ARROWS = 3;
const SHORTEST = 0.35; // of the longest arrow
const LONGEST = 54; // pixels
const HEAD = 7; // pixels
const LINE = 15; // pixels
const AWAY = [6, 22]; // pixels from the tip of an arrow to its name, and where that hides another
// Where a name goes beside its tip, from straight ahead.
const TURNS = [0, 0.5, -0.5, 1, -1, 1.6, -1.6, 2.2, -2.2, Math.PI];
const SHARES = [0, 0.2, 0.4, 0.6, 0.8, 1]; // of an arrow: a line of letters is higher than the gaps
const MOST_LETTERS = 24; // of a name on the map
const FONT = "600 12px system-ui, sans-serif";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./pane.js").Pane} Pane
 * @typedef {import("./types.js").Place} Place
 * @typedef {import("./types.js").Loadings} Loadings
 * @typedef {import("./types.js").Move} Move
 * @typedef {import("./types.js").Arrow} Arrow
 * @typedef {import("./types.js").NamedArrow} NamedArrow
 */

/**
 * The loadings of a view, or null where it has none.
 * @param {import("./types.js").View} view
 * @returns {Promise<Loadings | null>}
 */
export async function loadingsOf({ loadings }) {
  if (!loadings) return null;
  const parts = [loadings.features, loadings.longest, loadings.moves].map(array);
  const [features, longest, moves] = await Promise.all(parts);
  return { features, longest, moves };
}

/**
 * Where the strongest features move rows on average, the strongest first. What is not among the
 * strongest of a row counts as no move of it.
 * @param {Loadings} loadings
 * @param {ArrayLike<number>} rows
 * @returns {Move[]}
 */
export function strongest({ features, longest, moves }, rows) {
  const each = features.length / longest.length;
  /** @type {Map<number, Place>} */
  const sums = new Map();
  for (let i = 0; i < rows.length; i++) {
    const unit = longest[rows[i]] / STEPS;
    for (let place = each * rows[i]; place < each * (rows[i] + 1); place++) {
      const sum = sums.get(features[place]) ?? /** @type {Place} */ ([0, 0]);
      sum[0] += unit * (moves[2 * place] - STEPS);
      sum[1] += unit * (moves[2 * place + 1] - STEPS);
      sums.set(features[place], sum);
    }
  }
  const found = [...sums].map(([feature, sum]) => {
    const [x, y] = sum.map((value) => value / rows.length);
    return { feature, x, y, length: Math.hypot(x, y) };
  });
  const moving = found.filter(({ length }) => length > 0);
  return moving.sort((a, b) => b.length - a.length || a.feature - b.feature).slice(0, STRONGEST);
}

/**
 * Arrows of the strongest moves from a place on the screen; the longest has a fixed length.
 * @param {Move[]} moves
 * @param {Place} from
 * @returns {Arrow[]}
 */
export function arrowsOf(moves, [left, top]) {
  const longest = moves[0]?.length;
  const shown = moves.slice(0, MOST_ARROWS).filter(({ length }) => length >= SHORTEST * longest);
  return shown.map(({ feature, x, y }) => {
    const grow = LONGEST / longest;
    return { feature, from: [left, top], to: [left + grow * x, top - grow * y] };
  });
}

/** @type {WeakMap<object, { rows: number[], moves: Move[], centre: Place }>} by loadings */
const summaries = new WeakMap();

/**
 * What moves the selected rows, and where they are on average; kept until others are selected.
 * @param {Loadings} loadings
 * @param {Float32Array} places
 * @param {number[]} rows
 */
function summaryOf(loadings, places, rows) {
  const known = summaries.get(loadings);
  if (known?.rows === rows) return known;
  /** @type {Place} */
  const centre = [0, 0];
  for (const row of rows) {
    centre[0] += places[2 * row] / rows.length;
    centre[1] += places[2 * row + 1] / rows.length;
  }
  const summary = { rows, moves: strongest(loadings, rows), centre };
  summaries.set(loadings, summary);
  return summary;
}

/**
 * Find where the arrows of what moves the selected points go, from the middle of these.
 * @param {Pane} pane
 * @param {CanvasRenderingContext2D} pen
 */
export function placeLoadings(pane, pen) {
  const { app } = pane;
  pane.moved = [];
  if (!app.layers.loadings || !pane.loadings || !app.rows.length || pane.share < 1) return;
  const { moves, centre } = summaryOf(pane.loadings, pane.places, app.rows);
  pen.font = FONT;
  const widthOf = (/** @type {string} */ text) => pen.measureText(text).width;
  pane.moved = withWords(arrowsOf(moves, pane.toScreen(centre)), app.features, pane, widthOf);
}

/**
 * Where the arrows and their names are.
 * @param {Pane} pane
 * @returns {import("./types.js").Rectangle[]}
 */
export function boxesOf({ moved }) {
  return moved.flatMap(({ from, to, width, at: [left, middle] }) => [
    { left, top: middle - LINE / 2, width, height: LINE },
    {
      left: Math.min(from[0], to[0]),
      top: Math.min(from[1], to[1]),
      width: Math.abs(to[0] - from[0]),
      height: Math.abs(to[1] - from[1]),
    },
  ]);
}

/**
 * Draw these arrows.
 * @param {Pane} pane
 * @param {CanvasRenderingContext2D} pen
 */
export function drawLoadings(pane, pen) {
  const { app } = pane;
  pen.font = FONT;
  for (const { from, to } of pane.moved) {
    for (const { width, color } of [{ width: 5, color: app.paper }, { width: 2, color: app.ink }]) {
      pen.lineWidth = width;
      pen.strokeStyle = color;
      pen.stroke(new Path2D(shaftOf(from, to)));
    }
  }
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  for (const { name, at } of pane.moved) {
    pen.lineWidth = 4;
    pen.strokeStyle = app.paper;
    pen.strokeText(name, ...at);
    pen.fillStyle = app.ink;
    pen.fillText(name, ...at);
  }
}

/**
 * An arrow as a path of SVG.
 * @param {Place} from
 * @param {Place} to
 */
export function shaftOf(from, to) {
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  /** @type {(turn: number) => Place} */
  const wing = (turn) => [to[0] - HEAD * Math.cos(angle + turn), to[1] - HEAD * Math.sin(angle + turn)];
  const at = (/** @type {Place} */ place) => place.map((value) => value.toFixed(1)).join(" ");
  return `M${at(from)}L${at(to)}M${at(wing(0.5))}L${at(to)}L${at(wing(-0.5))}`;
}

/**
 * The names of arrows' features, and where they begin: at the tips, within the pane, not over each
 * other.
 * @param {Arrow[]} arrows
 * @param {string[]} features
 * @param {{ width: number }} pane
 * @param {(text: string) => number} widthOf
 * @returns {NamedArrow[]}
 */
export function withWords(arrows, features, pane, widthOf) {
  /** @type {import("./types.js").Rectangle[]} */
  const names = [];
  return arrows.flatMap((arrow) => {
    const { feature, from, to } = arrow;
    const name = clipped(features[feature], MOST_LETTERS);
    const width = widthOf(name);
    const ahead = Math.atan2(to[1] - from[1], to[0] - from[0]);
    const boxes = AWAY.flatMap((away) => TURNS.map((turn) => {
      const [x, y] = [Math.cos(ahead + turn), Math.sin(ahead + turn)];
      // The word touches a small circle around the tip, on the side that the turn says.
      const wished = to[0] + away * x + (width / 2) * (x - 1);
      const left = Math.max(2, Math.min(wished, pane.width - width - 2));
      return { left, width, height: LINE, top: to[1] + (away + LINE / 2) * y };
    }));
    const free = boxes.filter((one) => !names.some((other) => covers(one, other)));
    // At the border a name that is moved inwards may lie over an arrow.
    const box = free.find((one) => !arrows.some((other) => hides(one, other))) ?? free[0];
    if (!box) return []; // without its name an arrow would say nothing
    names.push(box);
    return [{ ...arrow, name, width, at: /** @type {Place} */ ([box.left, box.top]) }];
  });
}

/**
 * Whether two boxes, of which `top` is the middle, overlap.
 * @param {import("./types.js").Rectangle} one
 * @param {import("./types.js").Rectangle} other
 */
function covers(one, other) {
  const apart = Math.abs(other.top - one.top) >= (one.height + other.height) / 2;
  return !apart && one.left < other.left + other.width && other.left < one.left + one.width;
}

/**
 * Whether a box lies over an arrow.
 * @param {import("./types.js").Rectangle} box
 * @param {Arrow} arrow
 */
function hides({ left, top, width, height }, { from, to }) {
  return SHARES.some((share) => {
    const [x, y] = [0, 1].map((axis) => from[axis] + share * (to[axis] - from[axis]));
    return x > left && x < left + width && Math.abs(y - top) < height / 2;
  });
}

/**
 * The strongest features of a row as lines: a name, and in every pane an arrow and a bar.
 * @param {number} row
 * @param {App} app
 * @returns {HTMLElement[]}
 */
export function loadingLines(row, { panes, features, layers }) {
  const shown = layers.loadings ? panes.flatMap(({ loadings }) => loadings ?? []) : [];
  const moves = shown.map((loadings) => strongest(loadings, [row]));
  const all = moves.flatMap((some) => some.map((move) => ({ ...move, share: move.length / some[0].length })));
  if (!all.length) return [];
  all.sort((a, b) => b.share - a.share);
  const named = [...new Set(all.map(({ feature }) => feature))].slice(0, STRONGEST);
  const heads = shown.length > 1 ? ["1st pane", "2nd pane"] : [""];
  const grid = document.createElement("div");
  grid.className = "loadings";
  grid.style.setProperty("--panes", String(shown.length));
  for (const words of ["1 deviation more", ...heads]) {
    const head = document.createElement("span");
    head.className = "quiet";
    head.textContent = words;
    grid.append(head);
  }
  for (const feature of named) {
    const name = document.createElement("span");
    name.textContent = clipped(features[feature], 40);
    name.dir = "auto";
    grid.append(name, ...moves.map((some) => barOf(some, some.find((move) => move.feature === feature))));
  }
  return [grid];
}

/**
 * @param {Move[]} moves
 * @param {Move | undefined} move
 */
function barOf(moves, move) {
  const cell = document.createElement("span");
  cell.className = "moves";
  if (!move) return cell;
  const [arrow, bar] = [document.createElement("span"), document.createElement("span")];
  arrow.textContent = "\u2192";
  bar.className = "length";
  arrow.style.rotate = `${-Math.round((Math.atan2(move.y, move.x) * 180) / Math.PI)}deg`;
  bar.style.width = `${Math.round((44 * move.length) / moves[0].length)}px`;
  cell.append(arrow, bar);
  return cell;
}
