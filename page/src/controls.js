// The controls of the page, and its keys.

import { coloringOf } from "./coloring.js";
import { bindSaving } from "./saving.js";
import { find, selectMatches } from "./search.js";
import { byId } from "./words.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./types.js").Tool} Tool
 */

const TYPING = 150; // milliseconds without a key before a search begins

/**
 * @template {keyof HTMLElementEventMap} Type
 * @param {string} id
 * @param {Type} type
 * @param {(event: HTMLElementEventMap[Type]) => void} action
 */
function on(id, type, action) {
  byId(id).addEventListener(type, action);
}

/** @param {App} app */
export function bindControls(app) {
  const k = byId("k", HTMLInputElement);
  const help = byId("help-text", HTMLDialogElement);
  on("k", "input", () => {
    app.play(false);
    app.setK(Number(k.value));
  });
  on("play", "click", () => app.play(!app.playing));
  on("compare", "click", () => app.togglePanes());
  on("theme", "click", () => app.setTheme(app.theme === "dark" ? "light" : "dark"));
  const explain = () => {
    help.showModal();
    byId("help-title").focus(); // else the button at its end has the focus, and it starts there
    help.scrollTop = 0;
  };
  on("help", "click", explain);
  on("clear", "click", () => app.select([]));
  on("zoom", "click", () => {
    for (const pane of app.panes) pane.fitRows(app.rows);
  });
  on("as-pictures", "click", () => app.showSheet(true));
  on("as-table", "click", () => app.showSheet(false));
  bindSaving(app);
  bindColours(app);
  bindEdges(app);
  bindSearch(app);
  document.addEventListener("keydown", (event) => press(app, event, help, explain));
}

/** @param {App} app */
function bindColours(app) {
  const [colour, words] = [byId("colour", HTMLSelectElement), byId("words", HTMLSelectElement)];
  on("colour", "change", () => {
    app.coloring = coloringOf(app.columns[colour.selectedIndex]);
    app.showLegend();
    app.restyle();
  });
  const trust = byId("trust", HTMLInputElement);
  on("trust", "change", () => {
    app.layers.trust = trust.checked;
    app.showLegend();
    app.restyle();
  });
  for (const part of /** @type {const} */ (["size", "opacity"])) {
    const slider = byId(part, HTMLInputElement);
    on(part, "input", () => {
      app.look[part] = Number(slider.value) / 100;
      app.repaint();
      app.changed();
    });
  }
  on("words", "change", async () => {
    app.layers.words = words.value;
    if (words.value === "clusters") await app.strengthen();
    for (const pane of app.order) pane.relabel();
    app.changed();
  });
  for (const name of /** @type {const} */ (["patch", "loadings"])) {
    const box = byId(name, HTMLInputElement);
    on(name, "change", () => {
      app.layers[name] = box.checked;
      app.repaint();
      app.changed();
    });
  }
}

/** @param {App} app */
function bindEdges(app) {
  const [edges, threshold] = [byId("edges", HTMLInputElement), byId("threshold", HTMLInputElement)];
  const changed = () => {
    app.describe();
    app.repaint();
    app.changed();
  };
  on("edges", "change", () => {
    app.layers.edges = edges.checked;
    byId("edge-controls").hidden = !edges.checked;
    for (const pane of app.order) pane.loadEdges();
    changed();
  });
  on("threshold", "input", () => {
    app.layers.threshold = Number(threshold.value) / 100;
    changed();
  });
  app.layers.threshold = Number(threshold.value) / 100;
}

/** @param {App} app */
function bindSearch(app) {
  const field = byId("search", HTMLInputElement);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  on("search", "input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => find(app, field.value), TYPING);
  });
  on("search", "keydown", (event) => {
    if (event.key !== "Enter") return;
    clearTimeout(waiting);
    selectMatches(app);
  });
}

/**
 * Whether a key is for what has the focus: a text or the letters of a list.
 * @param {KeyboardEvent} event
 */
function takes({ target, key }) {
  if (!(target instanceof Element)) return false;
  if (target.matches("select")) return key === "Escape" || /^[\p{L}\p{N}]$/u.test(key);
  return target.matches('input[type="search"]');
}

/**
 * @param {App} app
 * @param {KeyboardEvent} event
 * @param {HTMLDialogElement} help
 * @param {() => void} explain
 */
function press(app, event, help, explain) {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open || takes(event)) return;
  /** @type {Record<string, () => void>} */
  const actions = {
    "/": () => byId("search").focus(),
    l: () => app.setTool("lasso"),
    v: () => app.setTool("move"),
    "?": explain,
    Escape: () => app.dismiss(),
  };
  if (!Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}
