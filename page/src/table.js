// The table of selected rows, of which only those in sight are in the document, and its export.

import { clipped, named } from "./words.js";

const COLLATOR = new Intl.Collator("en", { numeric: true });

const ROW_HEIGHT = 27; // as in style.css
const SPARE = 6; // rows beyond the edge of sight
const MOST_COLUMNS = 40; // shown; all are exported

// Spreadsheets run text that begins so; signed numbers, and signs alone, are harmless. As in
// tables/writing.py.
const FORMULA = /^(?![+-][\d.,]*([eE][+-]?\d+)?$|--$)[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** @typedef {import("./data.js").Column} Column */

/**
 * Put an apostrophe before text that a spreadsheet would run.
 * @param {string} text
 */
function harmless(text) {
  return FORMULA.test(text) ? `'${text}` : text;
}

/**
 * Quote a cell of a CSV file where it needs it (RFC 4180).
 * @param {string} text
 */
function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * The rows as a CSV file. A missing cell is empty, an empty text is "".
 * @param {number[]} rows
 * @param {Column[]} columns
 */
export function csvOf(rows, columns) {
  const lines = [columns.map((column) => quoted(harmless(column.name))).join(",")];
  for (const row of rows) {
    const cells = columns.map((column) => {
      if (column.missing(row)) return "";
      const text = column.text(row);
      return quoted(column.numeric ? text : harmless(text)) || '""';
    });
    lines.push(cells.join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

export class Table {
  /**
   * @param {HTMLElement} place
   * @param {Column} ids
   * @param {Column[]} columns
   * @param {Pick<import("./types.js").Actions, "point" | "pick">} actions
   */
  constructor(place, ids, columns, actions) {
    this.place = place;
    this.ids = ids;
    /** @type {Column[]} */
    this.columns = [];
    /** @type {Column[]} of the page, and those that only some selections have */
    this.all = columns;
    /** @type {Column[]} */
    this.extra = [];
    /** @type {{ column: Column, falling: boolean } | null} */
    this.sorted = null;
    this.actions = actions;
    /** @type {number[]} */
    this.rows = [];
    this.active = -1;
    this.head = document.createElement("div");
    this.head.className = "row head";
    this.head.setAttribute("role", "row");
    this.head.setAttribute("aria-rowindex", "1");
    this.body = document.createElement("div");
    this.body.className = "rows";
    this.body.setAttribute("role", "rowgroup");
    place.append(this.head, this.body);
    place.setAttribute("role", "grid");
    place.setAttribute("aria-label", "Selected rows");
    place.addEventListener("scroll", () => this.draw());
    place.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(place);
    this.setColumns(columns);
  }

  /** @param {Column[]} columns */
  setColumns(columns) {
    this.all = columns;
    // The last ones were asked for last.
    const left = Math.max(columns.length - MOST_COLUMNS, 0);
    const some = left ? [...columns.slice(0, MOST_COLUMNS / 2), ...columns.slice(-MOST_COLUMNS / 2)] : columns;
    this.columns = [...this.extra, ...some];
    this.head.replaceChildren(this.header(this.ids), ...this.columns.map((column) => this.header(column)));
    if (left) this.head.append(cell(`${left} more in the export`, false, "columnheader"));
    this.draw();
  }

  /**
   * The name of a column, which sorts by it: rising, falling, and as the rows are.
   * @param {Column} column
   */
  header(column) {
    const element = cell("", column.numeric && column !== this.ids, "columnheader");
    const { sorted } = this;
    const own = sorted?.column === column;
    const order = own && sorted ? (sorted.falling ? "descending" : "ascending") : "none";
    element.setAttribute("aria-sort", order);
    const button = document.createElement("button");
    button.type = "button";
    button.dir = "auto";
    button.textContent = `${named(column.name)}${own && sorted ? (sorted.falling ? " \u25be" : " \u25b4") : ""}`;
    button.title = `${named(column.name, 500)}: sort`;
    button.addEventListener("click", () => {
      if (!own) this.sort(column, false);
      else if (sorted?.falling) this.sort(null, false);
      else this.sort(column, true);
    });
    element.append(button);
    return element;
  }

  /**
   * Sort the rows by a column, or leave them as they are.
   * @param {Column | null} column
   * @param {boolean} falling
   */
  sort(column, falling) {
    this.sorted = column && { column, falling };
    this.setColumns(this.all);
    this.show([...this.rows].sort((a, b) => a - b));
  }

  /**
   * Show columns that belong to these rows alone, sorted by the first.
   * @param {Column[]} columns
   */
  beside(columns) {
    this.extra = columns;
    this.sort(columns[0] ?? null, false);
  }

  /** @param {number[]} rows */
  show(rows) {
    this.rows = this.sorted ? inOrder(rows, this.sorted) : rows;
    this.active = -1;
    this.place.removeAttribute("aria-activedescendant");
    this.place.setAttribute("aria-rowcount", String(rows.length + 1));
    this.body.style.height = `${rows.length * ROW_HEIGHT}px`;
    this.place.scrollTop = 0;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.place.scrollTop / ROW_HEIGHT) - SPARE);
    const count = Math.ceil(this.place.clientHeight / ROW_HEIGHT) + 2 * SPARE;
    const shown = this.rows.slice(first, first + count);
    this.body.replaceChildren(...shown.map((row, i) => this.line(row, first + i)));
  }

  /**
   * @param {number} row
   * @param {number} place
   */
  line(row, place) {
    const line = document.createElement("div");
    line.className = "row";
    line.id = `selected-${place}`;
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", String(place + 2));
    line.setAttribute("aria-selected", String(place === this.active));
    line.style.top = `${place * ROW_HEIGHT}px`;
    line.append(cell(clipped(this.ids.text(row))));
    for (const column of this.columns) line.append(cell(column.shown(row), column.numeric));
    line.addEventListener("pointerenter", () => this.actions.point(row));
    line.addEventListener("click", () => this.actions.pick(row));
    return line;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.target instanceof HTMLButtonElement) return; // the name of a column: it sorts
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    if (event.key === "Enter" && this.active >= 0) this.actions.pick(this.rows[this.active]);
    if (!Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    const last = this.rows.length - 1;
    this.active = Math.min(Math.max(this.active + steps[event.key], 0), last);
    const top = this.active * ROW_HEIGHT;
    const room = this.place.clientHeight - 2 * ROW_HEIGHT;
    if (top < this.place.scrollTop) this.place.scrollTop = top;
    if (top > this.place.scrollTop + room) this.place.scrollTop = top - room;
    this.draw();
    this.place.setAttribute("aria-activedescendant", `selected-${this.active}`);
    this.actions.point(this.rows[this.active]);
  }
}

/**
 * Rows by the cells of a column; what is missing comes last.
 * @param {number[]} rows
 * @param {{ column: Column, falling: boolean }} sorted
 */
export function inOrder(rows, { column, falling }) {
  const rank = column.numeric ? null : Int32Array.from(column.texts.keys());
  const order = [...column.texts.keys()].sort((a, b) => COLLATOR.compare(column.texts[a], column.texts[b]));
  order.forEach((code, place) => rank && (rank[code] = place));
  const value = (/** @type {number} */ row) => (rank ? rank[column.values[row]] : column.values[row]);
  const known = rows.filter((row) => !column.missing(row));
  const lost = rows.filter((row) => column.missing(row));
  const sign = falling ? -1 : 1;
  return [...known.sort((a, b) => sign * (value(a) - value(b)) || a - b), ...lost];
}

/** @param {string} text */
function cell(text, numeric = false, role = "gridcell") {
  const element = document.createElement("span");
  element.setAttribute("role", role);
  element.dir = "auto";
  element.classList.toggle("number", numeric);
  element.textContent = text;
  return element;
}
