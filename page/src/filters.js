// Filters: each hides the rows that its column excludes; together they leave what all of them leave.

import { Classes, Scale, coloringOf } from "./coloring.js";
import { Histogram } from "./histogram.js";
import { showClasses, showRange } from "./legend.js";
import { byId, counted, named, ofKind } from "./words.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./data.js").Column} Column
 */

/** A filter by one column: a range of its numbers, or some of its categories. */
class Filter {
  /**
   * @param {Column} column
   * @param {Classes | Scale} range
   */
  constructor(column, range) {
    this.column = column;
    this.range = range;
    this.element = document.createElement("div");
    this.element.className = "filter";
    this.histogram = range instanceof Scale ? new Histogram(range) : null;
  }
}

/** All filters of the page. */
export class Filters {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Filter[]} */
    this.list = [];
    const add = byId("add-filter", HTMLSelectElement);
    add.addEventListener("change", () => {
      const column = this.app.columns[add.selectedIndex - 1];
      add.selectedIndex = 0;
      if (column) this.add(column);
    });
  }

  /** Offer the columns that can be filtered by. */
  offer() {
    const add = byId("add-filter", HTMLSelectElement);
    add.replaceChildren(new Option("Add a filter\u2026"), ...this.app.columns.map(({ name }) => new Option(named(name, 60))));
    byId("filters").hidden = !this.app.columns.length;
  }

  /**
   * The filter by a column, which is made where there is none.
   * @param {Column} column
   */
  add(column) {
    const known = this.list.find((filter) => filter.column === column);
    if (known) return known;
    const range = coloringOf(column);
    if (!(range instanceof Classes || range instanceof Scale)) return null;
    const filter = new Filter(column, range);
    this.list.push(filter);
    byId("filter-list").append(filter.element);
    this.show(filter);
    this.app.restyle();
    return filter;
  }

  /** @param {Filter} filter */
  show({ element, column, range, histogram }) {
    const changed = () => this.app.restyle();
    const head = document.createElement("div");
    head.className = "line";
    const name = document.createElement("bdi");
    name.textContent = named(column.name, 40);
    name.title = named(column.name, 500);
    const close = document.createElement("button");
    close.type = "button";
    close.className = "small";
    close.textContent = "\u00d7";
    close.setAttribute("aria-label", `Remove the filter by ${named(column.name, 60)}`);
    close.addEventListener("click", () => {
      this.list = this.list.filter((one) => one.element !== element);
      element.remove();
      changed();
    });
    head.append(name, close);
    element.replaceChildren(head);
    if (range instanceof Classes) showClasses(element, range, this.app.theme, changed);
    else if (histogram) showRange(element, range, [histogram.element], changed);
  }

  /** Let the handles stand where the ranges end. */
  refresh() {
    for (const filter of this.list) this.show(filter);
  }

  clear() {
    const some = this.list.length > 0;
    for (const { element } of this.list) element.remove();
    this.list = [];
    if (some) this.app.restyle();
    return some;
  }

  /**
   * Which rows are seen: those that all filters and the legend leave.
   * @param {Uint8Array} visible
   */
  apply(visible) {
    const { coloring } = this.app;
    const all = [coloring, ...this.list.map(({ range }) => range)];
    const { length } = all;
    const failed = new Uint8Array(visible.length); // how many exclude a row
    const which = new Uint8Array(visible.length); // the last of these
    let count = 0;
    for (let row = 0; row < visible.length; row++) {
      for (let i = 0; i < length; i++) {
        if (all[i].shows(row)) continue;
        failed[row]++;
        which[row] = i;
      }
      visible[row] = failed[row] ? 0 : 1;
      count += visible[row];
    }
    this.list.forEach(({ histogram }, i) => {
      // What all others leave: a row that this one alone excludes counts, too.
      const left = (/** @type {number} */ row) => !failed[row] || (failed[row] === 1 && which[row] === i + 1);
      histogram?.draw(left, (row) => !failed[row]);
    });
    const words = count < visible.length ? `${counted(count)} of ${counted(visible.length)} shown` : "";
    ofKind(byId("filters").querySelector("output"), "output").textContent = words;
  }
}
