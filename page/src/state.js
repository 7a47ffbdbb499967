// What is seen, in the fragment of the page's address: a link shows the same again.

import { Classes, Scale } from "./coloring.js";
import { byId } from "./words.js";

const PAUSE = 250; // milliseconds without a change before the address is written
const MOST_ROWS = 20_000; // of a selection; of more there is no room in an address

const LAYERS = /** @type {const} */ (["patch", "loadings", "trust", "edges"]);

/** @typedef {import("./app.js").App} App */

/** Write the address soon after a change. */
export class State {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.waiting = undefined;
    this.written = "";
    addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== this.written) void this.read();
    });
  }

  changed() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.write(), PAUSE);
  }

  write() {
    const words = written(this.app);
    if (words === this.written) return;
    this.written = words;
    try {
      history.replaceState(null, "", `#${words}`);
    } catch {
      // A page within a notebook has no address of its own.
    }
  }

  /** Show what the address says; what it does not say, or says wrongly, stays as it is. */
  async read() {
    const words = new URLSearchParams(location.hash.slice(1));
    if ([...words].length) await restore(this.app, words);
  }
}

/** @param {App} app */
function written(app) {
  const words = new URLSearchParams();
  if (app.ks.length > 1) words.set("k", String(app.k));
  for (const pane of app.panes) {
    words.append("pane", JSON.stringify([pane.choice.method, pane.choice.divergence]));
    const { x, y, zoom } = pane.camera;
    words.append("camera", pane.fitted ? "fit" : [x, y, zoom].map((value) => value.toPrecision(6)).join());
  }
  writeColours(app, words);
  writeLayers(app, words);
  if (app.ends.length) words.set("ends", app.ends.join("."));
  if (app.rows.length && app.rows.length <= MOST_ROWS) words.set("rows", ranges(app.rows));
  const search = byId("search", HTMLInputElement).value;
  if (search.trim()) words.set("search", search);
  if (app.theme !== app.ownTheme) words.set("theme", app.theme);
  return words.toString();
}

/**
 * @param {App} app
 * @param {URLSearchParams} words
 */
function writeColours(app, words) {
  const { coloring } = app;
  const column = byId("colour", HTMLSelectElement).selectedIndex;
  if (column > 0) words.set("colour", app.columns[column].name);
  if (coloring instanceof Classes) {
    const hidden = [...coloring.entries.keys()].filter((place) => !coloring.entries[place].shown);
    if (hidden.length) words.set("hidden", hidden.join("."));
  }
  if (coloring instanceof Scale && (coloring.from > 0 || coloring.to < 1)) {
    words.set("range", `${coloring.from},${coloring.to}`);
  }
}

/**
 * @param {App} app
 * @param {URLSearchParams} words
 */
function writeLayers({ layers }, words) {
  const on = LAYERS.filter((name) => layers[name]);
  if (on.join() !== "patch,loadings") words.set("layers", on.join("."));
  if (layers.edges) words.set("threshold", String(layers.threshold));
  if (layers.words !== "classes") words.set("words", layers.words);
}

/**
 * @param {App} app
 * @param {URLSearchParams} words
 */
async function restore(app, words) {
  const theme = words.get("theme");
  if (theme === "dark" || theme === "light") app.setTheme(theme);
  await app.colourBy(words.get("colour") ?? "");
  restoreFilter(app, words);
  restoreLayers(words);
  restorePanes(app, words);
  const rows = numbers(words.get("rows"), app.n);
  if (rows.length) app.select(rows);
  const search = words.get("search");
  if (search) type("search", search);
  app.ends = numbers(words.get("ends"), app.n).slice(0, 2);
  for (const pane of app.order) app.findPath(pane);
}

/** @param {URLSearchParams} words */
function restoreLayers(words) {
  const on = words.get("layers")?.split(".");
  for (const name of on ? LAYERS : []) {
    const box = byId(name, HTMLInputElement);
    box.checked = on?.includes(name) ?? box.checked;
    box.dispatchEvent(new Event("change"));
  }
  const threshold = Number(words.get("threshold"));
  if (threshold > 0 && threshold <= 1) type("threshold", String(100 * threshold));
  const labels = words.get("words");
  if (labels !== "clusters" && labels !== "none") return;
  byId("words", HTMLSelectElement).value = labels;
  byId("words").dispatchEvent(new Event("change"));
}

/**
 * Set a control as if somebody did.
 * @param {string} id
 * @param {string} value
 */
function type(id, value) {
  byId(id, HTMLInputElement).value = value;
  byId(id).dispatchEvent(new Event("input"));
}

/**
 * @param {App} app
 * @param {URLSearchParams} words
 */
function restoreFilter(app, words) {
  const { coloring } = app;
  if (coloring instanceof Classes && words.has("hidden")) {
    for (const place of numbers(words.get("hidden"), coloring.entries.length)) {
      coloring.entries[place].shown = false;
    }
  }
  const range = words.get("range");
  if (coloring instanceof Scale && range) {
    const [from, to] = range.split(",").map(Number);
    if (from >= 0 && from <= to && to <= 1) Object.assign(coloring, { from, to });
  }
  app.showLegend();
  app.restyle();
}

/**
 * @param {App} app
 * @param {URLSearchParams} words
 */
function restorePanes(app, words) {
  const cameras = words.getAll("camera");
  const choices = words.getAll("pane").map(parsed);
  const count = Math.min(choices.length, app.order.length);
  if (count && count !== app.panes.length) app.togglePanes();
  app.panes.forEach((pane, i) => {
    const choice = choices[i];
    if (Array.isArray(choice)) pane.choose(choice[0], choice[1]);
    const [x, y, zoom] = (cameras[i] ?? "").split(",").map(Number);
    if (!(zoom > 0) || !Number.isFinite(x + y)) return;
    pane.fitted = false;
    pane.camera = { x, y, zoom };
  });
  const place = app.ks.indexOf(Number(words.get("k")));
  app.setK(place >= 0 ? place : app.ks.indexOf(app.k));
}

/**
 * @param {string} text
 * @returns {unknown}
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Rising numbers as text: 3, 4, 5, 9 is "3-5.9".
 * @param {number[]} rows
 */
export function ranges(rows) {
  const parts = [];
  for (let i = 0; i < rows.length; ) {
    let last = i;
    while (rows[last + 1] === rows[last] + 1) last++;
    parts.push(last > i ? `${rows[i]}-${rows[last]}` : String(rows[i]));
    i = last + 1;
  }
  return parts.join(".");
}

/**
 * The numbers of such a text that are below a limit.
 * @param {string | null} text
 * @param {number} limit
 * @returns {number[]}
 */
export function numbers(text, limit) {
  const found = [];
  for (const part of (text ?? "").split(".")) {
    if (!/^\d+(-\d+)?$/.test(part)) continue;
    const [first, last = first] = part.split("-").map(Number);
    for (let row = first; row <= Math.min(last, limit - 1); row++) found.push(row);
  }
  return found;
}
