// The controls of the page, and its keys.

import { coloringOf } from "./coloring.js";
import { bindSaving } from "./saving.js";
import { byId } from "./words.js";

const TYPING = 150; // milliseconds without a key before a search begins

export function bindControls(app) {
  const on = (id, type, action) => byId(id).addEventListener(type, action);
  on("k", "input", (event) => {
    app.play(false);
    app.setK(Number(event.target.value));
  });
  on("play", "click", () => app.play(!app.playing));
  on("compare", "click", () => app.togglePanes());
  on("theme", "click", () => app.setTheme(app.theme === "dark" ? "light" : "dark"));
  on("help", "click", () => byId("help-text").showModal());
  on("clear", "click", () => app.select([]));
  on("as-pictures", "click", () => app.showSheet(true));
  on("as-table", "click", () => app.showSheet(false));
  bindSaving(app);
  bindColours(app, on);
  bindEdges(app, on);
  bindSearch(app, on);
  document.addEventListener("keydown", (event) => press(app, event));
}

function bindColours(app, on) {
  on("colour", "change", (event) => {
    app.coloring = coloringOf(app.columns[event.target.selectedIndex]);
    app.showLegend();
    app.restyle();
  });
  on("trust", "change", (event) => {
    app.layers.trust = event.target.checked;
    app.showLegend();
    app.restyle();
  });
  on("words", "change", (event) => {
    app.layers.words = event.target.value;
    for (const pane of app.order) pane.relabel();
    app.changed();
  });
  for (const name of ["patch", "loadings"]) {
    on(name, "change", (event) => {
      app.layers[name] = event.target.checked;
      app.repaint();
      app.changed();
    });
  }
}

function bindEdges(app, on) {
  const changed = () => {
    app.describe();
    app.repaint();
    app.changed();
  };
  on("edges", "change", (event) => {
    app.layers.edges = event.target.checked;
    byId("edge-controls").hidden = !event.target.checked;
    for (const pane of app.order) pane.loadEdges();
    changed();
  });
  on("threshold", "input", (event) => {
    app.layers.threshold = Number(event.target.value) / 100;
    changed();
  });
  app.layers.threshold = Number(byId("threshold").value) / 100;
}

function bindSearch(app, on) {
  let waiting = null;
  on("search", "input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => app.search(event.target.value), TYPING);
  });
  on("search", "keydown", (event) => {
    if (event.key !== "Enter") return;
    clearTimeout(waiting);
    app.search(event.target.value);
    app.selectMatches();
  });
}

/** Whether a key is for what has the focus: a text, the letters of a list, the open help. */
function takes({ target, key }) {
  if (byId("help-text").open) return true;
  if (target.matches("select")) return key === "Escape" || /^[\p{L}\p{N}]$/u.test(key);
  return target.matches('input[type="search"]');
}

function press(app, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || takes(event)) return;
  const actions = {
    "/": () => byId("search").focus(),
    l: () => app.setTool("lasso"),
    v: () => app.setTool("move"),
    "?": () => byId("help-text").showModal(),
    Escape: () => app.dismiss(),
  };
  if (!Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}
