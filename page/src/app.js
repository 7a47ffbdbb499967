// What all panes of the page share: the views, the colours, the selection, the path.

import { bindControls } from "./controls.js";
import { Card } from "./card.js";
import { Scale, coloringOf } from "./coloring.js";
import { edgeColor, gradient, trustColor } from "./colors.js";
import { description } from "./data.js";
import { describePane } from "./foot.js";
import { showLegend } from "./legend.js";
import { Pane } from "./pane.js";
import { Pictures } from "./pictures.js";
import { listenToParent, tellParent } from "./parent.js";
import { ContactSheet } from "./sheet.js";
import { State } from "./state.js";
import { Table } from "./table.js";
import {
  byId,
  clipped,
  counted,
  divergenceName,
  measureName,
  methodName,
  named,
  rounded,
  sized,
  viewName,
} from "./words.js";

const FAINT = 0.16; // opacity of points that are not meant
const STEP = 1400; // milliseconds between two k when they are played

const distinct = (values) => [...new Set(values)];

export class App {
  constructor(columns, ids) {
    this.n = description().n;
    this.columns = columns;
    this.ids = ids;
    const { views, features, text, images } = description();
    this.views = views;
    /** @type {string[]} names of the features that loadings are of */
    this.features = features;
    /** @type {import("./data.js").Column | null} what is read in full */
    this.text = text === null ? null : columns[text];
    this.pictures = images && new Pictures(images);
    this.methods = distinct(this.views.map((view) => view.method));
    this.divergences = distinct(this.views.map((view) => view.divergence));
    this.ks = distinct(this.views.map((view) => view.k));
    this.k = this.ks[Math.floor(this.ks.length / 2)];
    // Colours of the page, set by the theme.
    this.ink = this.paper = this.accent = this.wash = "";
    this.layers = { patch: true, loadings: true, trust: false, edges: false, threshold: 1, words: "classes" };
    this.tool = "move";
    this.title = "";
    this.pointed = -1;
    this.ends = [];
    this.visible = new Uint8Array(this.n).fill(1);
    this.selected = new Uint8Array(this.n);
    this.matches = null;
    this.rows = [];
    this.panes = [];
    this.coloring = coloringOf(columns[0]);
  }

  /** What a row is called; a number alone would say nothing. */
  nameOf(row) {
    return this.ids.numeric ? `${this.ids.name} ${this.ids.text(row)}` : this.ids.text(row);
  }

  // ------------------------------------------------------------------ panes

  /** What the two panes show at first: the classical method beside that of patches. */
  firstChoices() {
    const { methods, divergences } = this;
    if (divergences.length < 2) {
      return methods.slice(0, 2).map((method) => ({ method, divergence: divergences[0] }));
    }
    const classical = (name) => name === "euclidean";
    const order = [...divergences].sort((a, b) => Number(classical(b)) - Number(classical(a)));
    return order.slice(0, 2).map((divergence) => ({ method: methods[0], divergence }));
  }

  addPane(choice) {
    const pane = new Pane(this, choice);
    fillSelect(pane.find(".method"), this.methods, methodName, choice.method);
    const [divergence] = this.divergences;
    if (divergence === null) pane.find(".divergence").parentElement.remove();
    else fillSelect(pane.find(".divergence"), this.divergences, divergenceName, choice.divergence);
    byId("panes").append(pane.element);
    this.panes.push(pane);
    pane.setTool(this.tool);
    pane.setTheme(this.theme);
    return pane;
  }

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
      pane.show(view);
    }
  }

  /** A pane has begun to show another view. */
  shown(pane) {
    pane.meanTrust = pane.trust.reduce((sum, value) => sum + value, 0) / (255 * this.n);
    pane.canvas.setAttribute("aria-label", `Scatter plot: ${viewName(pane.view)}`);
    if (this.layers.trust) this.showLegend();
    this.restyle([pane]);
    this.describe();
  }

  /** A pane has another graph. */
  routed(pane) {
    this.findPath(pane);
    this.describe();
    pane.repaint();
  }

  describe() {
    for (const pane of this.panes) if (pane.view && pane.trust) describePane(pane);
    const measures = this.panes.map((pane) => pane.view?.graph.measure).filter(Boolean);
    byId("measure").textContent = distinct(measures).map(measureName).join(" | ");
    const counts = this.panes.map((pane) => counted(pane.edgesShown().count));
    byId("threshold-value").textContent = distinct(counts).join(" | ");
    byId("edge-bar").style.background = gradient(edgeColor, this.theme);
    byId("edge-scales").replaceChildren(...this.edgeScales());
  }

  /** What the ends of the colours of edges stand for, in each pane where they differ. */
  edgeScales() {
    const scales = this.panes.map((pane) => {
      if (!pane.drawable) return null;
      const { low, high } = pane.graph.ranking.scale;
      return { measure: measureName(pane.view.graph.measure), low: rounded(low), high: rounded(high) };
    });
    const alike = distinct(scales.map((scale) => JSON.stringify(scale))).length === 1;
    return (alike ? scales.slice(0, 1) : scales).flatMap((scale, place) => {
      if (!scale) return [];
      const line = document.createElement("p");
      line.className = "ends";
      const { measure, low, high } = scale;
      const middle = alike ? "" : `${["first", "second"][place]} pane: ${measure}`;
      line.append(...[low, middle, high].map((words) => spanOf(words)));
      return [line];
    });
  }

  repaint() {
    for (const pane of this.panes) pane.repaint();
  }

  // ------------------------------------------------------------------ style

  /** Work out anew what is visible and in which colours. */
  restyle(panes = this.panes) {
    const { n, coloring } = this;
    const chosen = this.matches ?? (this.rows.length ? this.selected : null);
    this.faint = Boolean(chosen);
    const full = n > 20_000 ? 200 : 235;
    const opacity = new Uint8Array(n);
    for (let row = 0; row < n; row++) {
      this.visible[row] = coloring.shows(row) ? 1 : 0;
      const meant = !chosen || chosen[row];
      opacity[row] = this.visible[row] * (meant ? full : 255 * FAINT);
    }
    byId("found").textContent = this.matches ? counted(this.matching().length) : "";
    for (const pane of panes) {
      const colors = new Uint8Array(4 * n);
      if (this.layers.trust && pane.trust) this.trustColors(pane).paint(colors, this.theme);
      else coloring.paint(colors, this.theme);
      for (let row = 0; row < n; row++) colors[4 * row + 3] = opacity[row];
      pane.setColors(colors);
    }
    this.changed();
  }

  trustColors(pane) {
    const trust = Float32Array.from(pane.trust, (value) => value / 255);
    return new Scale(trust, this.trustRange(), trustColor);
  }

  /**
   * One range for all panes, so that they can be compared.
   * @returns {[number, number]}
   */
  trustRange() {
    let least = 255;
    for (const { trust } of this.panes) {
      for (let row = 0; trust && row < this.n; row++) least = Math.min(least, trust[row]);
    }
    return [Math.min(least / 255, 0.95), 1];
  }

  setTheme(theme) {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
    byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ink", "paper", "accent", "wash"]) {
      this[name] = style.getPropertyValue(`--${name}`);
    }
    this.ground = theme === "dark" ? [0.082, 0.094, 0.11] : [1, 1, 1];
    for (const pane of this.order ?? []) pane.setTheme(theme);
    this.showLegend();
    this.describe();
    this.restyle();
    this.repaint();
    this.changed();
  }

  showLegend() {
    const { trust } = this.layers;
    const shown = trust ? new Scale([], this.trustRange(), trustColor) : this.coloring;
    showLegend(byId("legend"), shown, this.theme, () => this.restyle());
    byId("legend").classList.toggle("fixed", trust);
    byId("colour").hidden = trust || !this.columns.length;
    byId("colour-title").firstChild.textContent = trust ? "Trust" : "Colour";
  }

  // ------------------------------------------------------------------ pointing and picking

  /** Point at a row in all panes, -1 at none; an event of the pointer says where its card goes. */
  point(row, event = null) {
    if (row >= 0 && event) this.card.show(row, event);
    else this.card.hide();
    if (row === this.pointed) return;
    this.pointed = row;
    this.repaint();
  }

  /** Leave off: no path, no half-drawn lasso, no card. */
  dismiss() {
    this.pick(-1);
    this.card.pin(false);
    this.point(-1);
    for (const pane of this.order) pane.cancel();
  }

  /** A click on a row, or on none: the ends of a path. */
  pick(row) {
    this.card.pin(row >= 0 && row === this.card.row);
    if (row < 0 || this.ends.length === 2) this.ends = [];
    if (row >= 0 && this.ends[0] !== row) this.ends.push(row);
    for (const pane of this.order) this.findPath(pane);
    this.describe();
    this.repaint();
    const found = this.panes.filter((pane) => pane.path);
    const lengths = found.map((pane) => rounded(pane.path.length / pane.graph.median));
    if (found.length) this.say(`Geodesic of length ${lengths.join(" and ")} median edges`);
    this.changed();
  }

  findPath(pane) {
    pane.path = this.ends.length === 2 && pane.graph ? pane.graph.path(...this.ends) : null;
  }

  // ------------------------------------------------------------------ selection and search

  select(rows, add = false) {
    if (!add) this.selected.fill(0);
    for (const row of rows) this.selected[row] = 1;
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

  /** Show the selected rows by their pictures, or as a table. */
  showSheet(on) {
    byId("sheet").hidden = !on;
    byId("table").hidden = on;
    byId("as-pictures").hidden = byId("as-table").hidden = !this.pictures;
    byId("as-pictures").setAttribute("aria-pressed", String(on));
    byId("as-table").setAttribute("aria-pressed", String(!on));
  }

  search(text) {
    const words = text.trim().toLowerCase();
    this.matches = null;
    if (words) {
      this.matches = new Uint8Array(this.n);
      const texts = this.columns.filter((column) => !column.numeric);
      for (const column of texts) column.search(words, this.matches);
      this.ids.search(words, this.matches);
    }
    this.restyle();
  }

  /** The rows that the search has found and the legend shows. */
  matching() {
    const rows = [];
    this.matches?.forEach((hit, row) => hit && this.visible[row] && rows.push(row));
    return rows;
  }

  selectMatches() {
    if (!this.matches) return;
    const rows = this.matching();
    byId("search").value = "";
    this.search("");
    this.select(rows);
  }

  // ------------------------------------------------------------------ controls

  setK(place) {
    this.k = this.ks[place];
    byId("k").value = String(place);
    byId("k-value").textContent = String(this.k);
    byId("k").setAttribute("aria-valuetext", `${this.k} neighbours`);
    this.showViews();
  }

  /** Go through all k, again and again, or stop. */
  play(on) {
    clearInterval(this.playing);
    this.playing = on
      ? setInterval(() => this.setK((this.ks.indexOf(this.k) + 1) % this.ks.length), STEP)
      : null;
    byId("play").setAttribute("aria-pressed", String(on));
    byId("play").textContent = on ? "Stop" : "Play";
  }

  setTool(tool) {
    this.tool = tool;
    for (const pane of this.order) pane.setTool(tool);
  }

  /** What is seen has changed. */
  changed() {
    this.state?.changed();
  }

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
    this.card = new Card(this);
    const actions = {
      point: (row, event = null) => this.point(row, event),
      pick: (row) => this.pick(row),
      isPointed: (row) => row === this.pointed,
      accent: () => this.accent,
    };
    this.table = new Table(byId("table"), this.ids, this.columns, actions);
    if (this.pictures) this.sheet = new ContactSheet(byId("sheet"), this.pictures, actions);
    this.showSheet(Boolean(this.pictures));
    const dark = matchMedia("(prefers-color-scheme: dark)");
    this.theme = this.ownTheme = dark.matches ? "dark" : "light";
    for (const choice of this.firstChoices()) this.addPane(choice);
    this.order = [...this.panes];
    byId("compare").hidden = this.panes.length < 2;
    this.paneCount();
    this.setTheme(this.theme);
    dark.addEventListener("change", () => this.setTheme(dark.matches ? "dark" : "light"));
    bindControls(this);
    byId("loadings").parentElement.hidden = !this.features.length;
    byId("neighbors").hidden = this.ks.length < 2;
    byId("k").max = String(this.ks.length - 1);
    byId("k-ticks").replaceChildren(...this.ks.map((k) => spanOf(String(k))));
    this.setK(this.ks.indexOf(this.k));
    this.state = new State(this);
    this.state.read();
    listenToParent(this);
  }
}

function fillSelect(select, values, nameOf, chosen) {
  for (const value of values) select.append(new Option(nameOf(value), value));
  select.value = chosen;
  select.disabled = values.length < 2;
}

function spanOf(text) {
  const element = document.createElement("span");
  element.textContent = text;
  return element;
}
