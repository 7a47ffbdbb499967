// What all panes of the page share: the views, the colours, the selection, the path.

import { bindControls } from "./controls.js";
import { Card } from "./card.js";
import { fillSelect, firstChoices } from "./choices.js";
import { coloringOf } from "./coloring.js";
import { Column, description, furtherColumns } from "./data.js";
import { Filters } from "./filters.js";
import { bindFinder } from "./finder.js";
import { describeEdges, describePane } from "./foot.js";
import { showLegend } from "./legend.js";
import { paint, trustScale } from "./painting.js";
import { Pane } from "./pane.js";
import { Pictures } from "./pictures.js";
import { find, hint, tellFound } from "./search.js";
import { listenToParent, tellParent } from "./parent.js";
import { ContactSheet } from "./sheet.js";
import { State } from "./state.js";
import { Table } from "./table.js";
import {
  byId,
  clipped,
  counted,
  divergenceName,
  methodName,
  named,
  ofKind,
  rounded,
  sized,
  spanOf,
  viewName,
} from "./words.js";

const MOST_STRONG = 300; // further columns that clusters may be named by
const STEP = 1400; // milliseconds between two k when they are played

/**
 * @typedef {import("./types.js").At} At
 * @typedef {import("./types.js").Choice} Choice
 * @typedef {import("./types.js").Theme} Theme
 * @typedef {import("./types.js").Tool} Tool
 */

/**
 * @template Value
 * @param {Value[]} values
 */
const distinct = (values) => [...new Set(values)];

export class App {
  /**
   * @param {Column[]} columns
   * @param {Column} ids
   */
  constructor(columns, ids) {
    this.n = description().n;
    this.columns = columns;
    this.further = furtherColumns();
    /** @type {Column[]} of the further ones, those that the words on the map may name */
    this.strong = [];
    this.ids = ids;
    const { views, features, text, images } = description();
    this.views = views;
    this.features = features;
    /** @type {Column | null} what is read in full */
    this.text = text === null ? null : columns[text];
    this.pictures = images && new Pictures(images);
    this.methods = distinct(this.views.map((view) => view.method));
    this.divergences = distinct(this.views.map((view) => view.divergence));
    this.ks = distinct(this.views.map((view) => view.k));
    this.k = this.ks[Math.floor(this.ks.length / 2)];
    // Colours of the page, set by the theme.
    this.ink = this.paper = this.accent = this.wash = "";
    /** @type {number[]} red, green and blue from 0 to 1 */
    this.ground = [1, 1, 1];
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    /** @type {Theme} */
    this.theme = this.dark.matches ? "dark" : "light";
    this.ownTheme = this.theme; // of the browser
    /** @type {import("./types.js").Layers} */
    this.layers = { patch: true, loadings: true, trust: false, edges: false, threshold: 1, words: "classes" };
    this.look = { size: 1, opacity: 1 }; // of points, beside what they would be
    /** @type {Tool} */
    this.tool = "move";
    this.title = "";
    this.pointed = -1;
    /** @type {number[]} of a path, at most two */
    this.ends = [];
    this.visible = new Uint8Array(this.n).fill(1);
    this.selected = new Uint8Array(this.n);
    this.faint = false; // whether some points are not meant
    this.asked = ""; // of the search
    this.unknown = ""; // the column that it names and that there is not
    /** @type {Uint8Array | null} what the search has found */
    this.matches = null;
    /** @type {number[]} that are selected */
    this.rows = [];
    /** @type {Pane[]} in sight */
    this.panes = [];
    /** @type {Pane[]} of which one may be closed */
    this.order = [];
    this.coloring = coloringOf(columns[0]);
    this.filters = new Filters(this);
    /** @type {ReturnType<typeof setInterval> | undefined} */
    this.playing = undefined;
    /** @type {State | null} null until the page is there */
    this.state = null;
    this.card = new Card(this);
    const actions = this.actions();
    this.table = new Table(byId("table"), ids, columns, actions);
    this.sheet = this.pictures && new ContactSheet(byId("sheet"), this.pictures, actions);
  }

  /** @returns {import("./types.js").Actions} */
  actions() {
    return {
      point: (row, at) => this.point(row, at),
      pick: (row) => this.pick(row),
      isPointed: (row) => row === this.pointed,
      accent: () => this.accent,
    };
  }

  /**
   * What a row is called; a number alone would say nothing.
   * @param {number} row
   */
  nameOf(row) {
    return this.ids.numeric ? `${this.ids.name} ${this.ids.text(row)}` : this.ids.text(row);
  }

  // ------------------------------------------------------------------ panes

  /** @param {Choice} choice */
  addPane(choice) {
    const pane = new Pane(this, choice);
    fillSelect(pane.find(".method", HTMLSelectElement), this.methods, methodName, choice.method);
    const list = pane.find(".divergence", HTMLSelectElement);
    const divergences = this.divergences.flatMap((name) => name ?? []);
    if (choice.divergence === null) list.parentElement?.remove();
    else fillSelect(list, divergences, divergenceName, choice.divergence);
    byId("panes").append(pane.element);
    this.panes.push(pane);
    pane.setTool(this.tool);
    pane.setTheme(this.theme);
    return pane;
  }

  /** @param {Pane} pane */
  closePane(pane) {
    if (this.panes.length === 1) return;
    pane.element.remove();
    this.panes = this.panes.filter((other) => other !== pane);
    this.paneCount();
    this.describe();
  }

  /** Close the pane without patches, or else the second, or bring back the one that was closed. */
  togglePanes() {
    if (this.panes.length > 1) {
      const classical = this.panes.filter((pane) => pane.choice.divergence === "euclidean");
      this.closePane(classical.length === 1 ? classical[0] : this.panes[1]);
    } else {
      this.panes = this.order;
      byId("panes").replaceChildren(...this.panes.map(({ element }) => element));
      this.paneCount();
      this.showViews();
      this.restyle();
    }
  }

  paneCount() {
    const two = this.panes.length > 1;
    byId("compare").setAttribute("aria-pressed", String(two));
    byId("panes").classList.toggle("single", !two);
  }

  /** Let every pane show what is chosen. */
  showViews() {
    for (const pane of this.panes) {
      const { method, divergence } = pane.choice;
      const view = this.views.find(
        (one) => one.method === method && one.divergence === divergence && one.k === this.k,
      );
      if (view) pane.show(view);
    }
  }

  /**
   * A pane has begun to show another view.
   * @param {Pane} pane
   * @param {import("./types.js").View} view
   */
  shown(pane, view) {
    let sum = 0;
    for (let row = 0; row < this.n; row++) sum += pane.trust[row];
    pane.meanTrust = sum / (255 * this.n);
    pane.canvas.setAttribute("aria-label", `Scatter plot: ${viewName(view)}`);
    if (this.layers.trust) this.showLegend();
    this.restyle([pane]);
    this.describe();
  }

  /**
   * A pane has another graph.
   * @param {Pane} pane
   */
  routed(pane) {
    this.findPath(pane);
    this.describe();
    pane.repaint();
  }

  describe() {
    for (const pane of this.panes) describePane(pane);
    describeEdges(this);
  }

  repaint() {
    for (const pane of this.panes) pane.repaint();
  }

  // ------------------------------------------------------------------ style

  /** Work out anew what is visible and in which colours. */
  restyle(panes = this.panes) {
    paint(this, panes);
    tellFound(this);
    this.changed();
  }

  /** @param {Theme} theme */
  setTheme(theme) {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
    byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
    const style = getComputedStyle(document.documentElement);
    for (const name of /** @type {const} */ (["ink", "paper", "accent", "wash"])) {
      this[name] = style.getPropertyValue(`--${name}`);
    }
    this.ground = theme === "dark" ? [0.082, 0.094, 0.11] : [1, 1, 1];
    for (const pane of this.order) pane.setTheme(theme);
    this.showLegend();
    this.describe();
    this.restyle();
    this.repaint();
    this.changed();
  }

  showLegend() {
    const { trust } = this.layers;
    const shown = trust ? trustScale(this.panes) : this.coloring;
    showLegend(byId("legend"), shown, this.theme, () => this.restyle());
    byId("legend").classList.toggle("fixed", trust);
    byId("colour").hidden = trust || !this.columns.length;
    ofKind(byId("colour-title").firstElementChild, "label").textContent = trust ? "Trust" : "Colour";
  }

  /**
   * Colour by a column, which is unpacked where it is not there yet.
   * @param {string} name
   */
  async colourBy(name) {
    const column = await this.column(name);
    if (!column) return;
    byId("colour", HTMLSelectElement).selectedIndex = this.columns.indexOf(column);
    byId("colour").dispatchEvent(new Event("change"));
  }

  /**
   * A column by its name; null where there is none.
   * @param {string} name
   */
  async column(name) {
    const known = (/** @type {Column} */ column) => column.name === name;
    const packed = this.further.get(name);
    if (packed && !this.columns.some(known)) {
      const column = await Column.load(packed);
      if (!this.columns.some(known)) {
        this.columns.push(column);
        byId("colour").append(new Option(named(name, 60)));
        this.table.setColumns(this.columns);
        this.filters.offer();
      }
    }
    return this.columns.find(known) ?? null;
  }

  /** Unpack the first of the further columns, which follow the map most closely. */
  async strengthen() {
    const some = [...this.further.values()].slice(0, MOST_STRONG);
    const loaded = await Promise.all(some.map((packed) => Column.load(packed)));
    this.strong = loaded.filter(({ name }) => this.columns.every((column) => column.name !== name));
  }

  // ------------------------------------------------------------------ pointing and picking

  /**
   * Point at a row in all panes, -1 at none.
   * @param {number} row
   * @param {At} [at] where the pointer is, beside which its card goes
   */
  point(row, at) {
    if (row >= 0 && at) this.card.show(row, at);
    else this.card.hide();
    if (row === this.pointed) return;
    this.pointed = row;
    this.repaint();
  }

  /** Leave off: the path, a half-drawn lasso and the card, else the selection, else what hides rows. */
  dismiss() {
    const begun = this.ends.length || this.card.pinned || this.panes.some((pane) => pane.lasso);
    this.pick(-1);
    this.card.pin(false);
    this.point(-1);
    for (const pane of this.order) pane.cancel();
    if (begun) return;
    if (this.rows.length) this.select([]);
    else if (this.matches) {
      byId("search", HTMLInputElement).value = "";
      find(this, "");
    } else this.filters.clear();
  }

  /**
   * A click on a row, or on none: the ends of a path.
   * @param {number} row
   */
  pick(row) {
    this.card.pin(row >= 0 && row === this.card.row);
    if (row < 0 || this.ends.length === 2) this.ends = [];
    if (row >= 0 && this.ends[0] !== row) this.ends.push(row);
    for (const pane of this.order) this.findPath(pane);
    this.describe();
    this.repaint();
    const lengths = this.panes.flatMap(({ path, graph }) => (path && graph ? rounded(path.length / graph.median) : []));
    if (lengths.length) this.say(`Geodesic of length ${lengths.join(" and ")} median edges`);
    this.changed();
  }

  /** @param {Pane} pane */
  findPath(pane) {
    const [from, to] = this.ends;
    pane.path = to !== undefined && pane.graph ? pane.graph.path(from, to) : null;
  }

  // ------------------------------------------------------------------ selection and search

  /** @param {number[]} rows */
  select(rows, add = false) {
    if (!add) this.selected.fill(0);
    for (const row of rows) this.selected[row] = 1;
    if (this.table.extra.length) this.table.beside([]);
    this.rows = [];
    this.selected.forEach((chosen, row) => chosen && this.rows.push(row));
    byId("drawer").hidden = !this.rows.length;
    const { length } = this.rows;
    const words = `${counted(length)} ${length === 1 ? "row" : "rows"} selected`;
    byId("selected").textContent = words;
    this.table.show(this.rows);
    this.sheet?.show(this.rows);
    this.restyle();
    this.say(words);
    tellParent(this.rows);
  }

  /**
   * Show the selected rows by their pictures, or as a table.
   * @param {boolean} on
   */
  showSheet(on) {
    byId("sheet").hidden = !on;
    byId("table").hidden = on;
    byId("as-pictures").hidden = byId("as-table").hidden = !this.pictures;
    byId("as-pictures").setAttribute("aria-pressed", String(on));
    byId("as-table").setAttribute("aria-pressed", String(!on));
  }

  // ------------------------------------------------------------------ controls

  /** @param {number} place */
  setK(place) {
    this.k = this.ks[place];
    byId("k", HTMLInputElement).value = String(place);
    byId("k-value").textContent = String(this.k);
    byId("k").setAttribute("aria-valuetext", `${this.k} neighbours`);
    this.showViews();
  }

  /**
   * Go through all k, again and again, or stop.
   * @param {boolean} on
   */
  play(on) {
    clearInterval(this.playing);
    this.playing = on
      ? setInterval(() => this.setK((this.ks.indexOf(this.k) + 1) % this.ks.length), STEP)
      : undefined;
    byId("play").setAttribute("aria-pressed", String(on));
    byId("play").textContent = on ? "Stop" : "Play";
  }

  /** @param {Tool} tool */
  setTool(tool) {
    this.tool = tool;
    for (const pane of this.order) pane.setTool(tool);
  }

  /** What is seen has changed. */
  changed() {
    this.state?.changed();
  }

  /** @param {string} words */
  say(words) {
    byId("status").textContent = words;
  }

  /** Set everything up. */
  start() {
    this.title = clipped(description().title, 120);
    document.title = this.title;
    byId("title").textContent = this.title;
    const many = `${this.views.length} embedding${this.views.length === 1 ? "" : "s"}`;
    const size = sized(Number(description().bytes));
    byId("summary").textContent = `${counted(this.n)} points · ${many} · ${size}`;
    for (const column of this.columns) byId("colour").append(new Option(named(column.name, 60)));
    byId("search", HTMLInputElement).placeholder = hint(this.columns);
    this.showSheet(Boolean(this.pictures));
    for (const choice of firstChoices(this.methods, this.divergences)) this.addPane(choice);
    this.order = [...this.panes];
    byId("compare").hidden = this.panes.length < 2;
    this.paneCount();
    this.setTheme(this.theme);
    this.dark.addEventListener("change", ({ matches }) => this.setTheme(matches ? "dark" : "light"));
    bindControls(this);
    bindFinder(this);
    this.filters.offer();
    byId("loadings-switch").hidden = !this.features.length;
    byId("neighbors").hidden = this.ks.length < 2;
    byId("k", HTMLInputElement).max = String(this.ks.length - 1);
    byId("k-ticks").replaceChildren(...this.ks.map((k) => spanOf(String(k))));
    this.setK(this.ks.indexOf(this.k));
    this.state = new State(this);
    this.state.read();
    listenToParent(this);
  }
}
