// What is seen, in the fragment of the page's address: a link shows the same again.

import { Classes, Scale } from "./coloring.js";
import { byId } from "./words.js";

const PAUSE = 250; // milliseconds without a change before the address is written
const MOST_ROWS = 20_000; // of a selection; of more there is no room in an address

const LOOK = /** @type {const} */ (["size", "opacity"]);
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
  for (const { column, range } of app.filters.list) {
    words.append("filter", JSON.stringify([column.name, ...settingOf(range)]));
  }
  for (const part of LOOK) if (app.look[part] !== 1) words.set(part, String(app.look[part]));
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
  const [setting] = coloring instanceof Classes || coloring instanceof Scale ? settingOf(coloring) : [];
  if (setting) words.set(coloring instanceof Classes ? "hidden" : "range", setting);
}

/**
 * What a legend or a filter hides, as text; nothing where it hides nothing.
 * @param {Classes | Scale} range
 */
function settingOf(range) {
  if (range instanceof Scale) return range.from > 0 || range.to < 1 ? [`${range.from},${range.to}`] : [];
  const hidden = [...range.entries.keys()].filter((place) => !range.entries[place].shown);
  return hidden.length ? [hidden.join(".")] : [];
}

/**
 * Hide what such a text says.
 * @param {unknown} range
 * @param {unknown} setting
 */
function restoreSetting(range, setting) {
  if (typeof setting !== "string") return;
  if (range instanceof Classes) {
    for (const place of numbers(setting, range.entries.length)) range.entries[place].shown = false;
  }
  if (range instanceof Scale) {
    const [from, to] = setting.split(",").map(Number);
    if (from >= 0 && from <= to && to <= 1) Object.assign(range, { from, to });
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
  await restoreFilter(app, words);
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
async function restoreFilter(app, words) {
  restoreSetting(app.coloring, words.get("hidden") ?? words.get("range"));
  for (const text of words.getAll("filter")) {
    const found = parsed(text);
    if (!Array.isArray(found)) continue;
    const column = await app.column(String(found[0]));
    if (column) restoreSetting(app.filters.add(column)?.range, found[1]);
  }
  app.filters.refresh();
  for (const part of LOOK) if (words.has(part)) type(part, String(100 * Number(words.get(part))));
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
