// The card beside the pointer: the row that is pointed at.

import { loadingLines } from "./loadings.js";
import { drawPicture } from "./pictures.js";
import { freePlace } from "./placing.js";
import { byId, clipped, counted, divergenceName, methodName, named, penOf } from "./words.js";

const MOST_ROWS = 12; // columns on the card
const FEW_ROWS = 6; // columns beside a text, a picture or loadings
const LEAST_ROOM = [180, 90]; // pixels of a pane in sight, of which the card needs no other place
const PICTURE = 112; // pixels, the longer side of a picture
const MOST_LETTERS = 4000; // of a text
const LINK = /https?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]}]/g;

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./types.js").Rectangle} Rectangle
 * @typedef {import("./types.js").Place} Place
 */

export class Card {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.element = byId("card");
    this.row = -1;
    this.pinned = false;
  }

  hide() {
    if (this.pinned) return;
    this.element.hidden = true;
    this.row = -1; // what it says may change until it is shown again
  }

  /**
   * Let the card stay, so that its links can be reached and its text be scrolled.
   * @param {boolean} on
   */
  pin(on) {
    const { element } = this;
    const useful = element.querySelector("a") || this.isCut();
    this.pinned = Boolean(on && this.row >= 0 && useful);
    element.classList.toggle("pinned", this.pinned);
    if (!on) this.hide();
  }

  /** Whether a part of the card, or of the text on it, is out of sight. */
  isCut() {
    const { element } = this;
    const parts = [element, ...element.querySelectorAll(".text")];
    return parts.some(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight + 1);
  }

  /**
   * Show a row beside the pointer.
   * @param {number} row
   * @param {import("./types.js").At} pointer
   */
  show(row, { clientX, clientY }) {
    const { element } = this;
    if (this.pinned || (row === this.row && !element.hidden)) return;
    element.replaceChildren(...this.lines(row));
    this.row = row;
    element.hidden = false;
    element.scrollTop = 0;
    const [places, rooms] = [this.explained(row), this.rooms()];
    const placed = () => {
      Object.assign(element.style, { left: "0", top: "0", width: "", height: "" });
      const { width, height } = element.getBoundingClientRect();
      const found = freePlace([clientX, clientY], [width, height], places, rooms);
      return { found, fits: found.height >= height && found.width >= width };
    };
    element.classList.remove("cut", "compact");
    const first = placed();
    let { found } = first;
    if (!first.fits) {
      element.classList.add("compact");
      found = placed().found;
    }
    for (const side of /** @type {const} */ (["left", "top", "width", "height"])) {
      element.style[side] = `${found[side]}px`;
    }
    element.classList.toggle("cut", this.isCut());
  }

  /**
   * Where the card may be: the panes as far as they are in sight, or else the window.
   * @returns {Rectangle[]}
   */
  rooms() {
    const slider = byId("neighbors");
    const fixed = getComputedStyle(slider).position === "fixed";
    const bottom = fixed ? slider.getBoundingClientRect().top : innerHeight;
    const panes = this.app.panes.map(({ canvas }) => {
      const box = canvas.getBoundingClientRect();
      const [left, top] = [Math.max(box.left, 0), Math.max(box.top, 0)];
      return { left, top, width: Math.min(box.right, innerWidth) - left, height: Math.min(box.bottom, bottom) - top };
    });
    const seen = panes.filter(({ width, height }) => width >= LEAST_ROOM[0] && height >= LEAST_ROOM[1]);
    return seen.length ? seen : [{ left: 0, top: 0, width: innerWidth, height: bottom }];
  }

  /**
   * Where the point, its neighbours and the names of arrows are in the window, in all panes.
   * @param {number} row
   * @returns {Place[]}
   */
  explained(row) {
    return this.app.panes.flatMap((pane) => {
      if (!pane.view) return [];
      const { left, top } = pane.canvas.getBoundingClientRect();
      const rows = [row, ...(pane.graph?.neighbors(row) ?? []).map((neighbor) => neighbor.row)];
      const names = pane.moved.flatMap(({ at: [x, y], width }) => [[x, y], [x + width / 2, y], [x + width, y]]);
      return [...rows.map((one) => pane.toScreen(pane.place(one))), ...names]
        .filter(([x, y]) => x > 0 && y > 0 && x < pane.width && y < pane.height)
        .map(([x, y]) => /** @type {Place} */ ([left + x, top + y]));
    });
  }

  /** @param {number} row */
  lines(row) {
    const { app } = this;
    const name = document.createElement("strong");
    name.dir = "auto";
    name.textContent = clipped(app.nameOf(row), 120);
    const list = document.createElement("dl");
    const first = byId("colour", HTMLSelectElement).selectedIndex;
    const order = [...app.columns.slice(first, first + 1), ...app.columns.filter((_, place) => place !== first)];
    const columns = order.filter((column) => column !== app.text);
    const loadings = loadingLines(row, app);
    const most = app.text || app.pictures || loadings.length ? FEW_ROWS : MOST_ROWS;
    for (const column of columns.slice(0, most)) {
      list.append(...line(column.name, column.shown(row, 120)));
    }
    const copies = app.panes.map((pane) => pane.copies(row));
    const here = Math.max(...copies);
    for (const pane of app.panes.filter(({ view }) => view)) {
      list.append(...line(trustName(pane, app.panes), (pane.trust[row] / 255).toFixed(2)));
    }
    const parts = [name, ...copiesLine(here), ...this.picture(row), ...this.text(row), list];
    const more = columns.length - most;
    if (more > 0) {
      const rest = document.createElement("p");
      rest.className = "quiet";
      rest.textContent = `and ${more} more`;
      parts.push(rest);
    }
    return [...parts, ...loadings];
  }

  /** @param {number} row */
  picture(row) {
    const { pictures } = this.app;
    if (!pictures) return [];
    const canvas = document.createElement("canvas");
    const grow = PICTURE / Math.max(pictures.width, pictures.height);
    canvas.width = Math.round(pictures.width * grow);
    canvas.height = Math.round(pictures.height * grow);
    canvas.className = "picture";
    pictures.load([row]).then(() => {
      const picture = pictures.of(row);
      const { width, height } = canvas;
      if (picture) drawPicture(penOf(canvas), picture, { left: 0, top: 0, width, height });
    });
    return [canvas];
  }

  /** @param {number} row */
  text(row) {
    const { text } = this.app;
    if (!text || text.missing(row)) return [];
    const paragraph = document.createElement("p");
    paragraph.className = "text";
    paragraph.dir = "auto";
    paragraph.append(...linked(clipped(text.text(row), MOST_LETTERS)));
    return [paragraph];
  }
}

/**
 * How many rows stand at a place, where they are several.
 * @param {number} count
 */
function copiesLine(count) {
  if (count < 2) return [];
  const paragraph = document.createElement("p");
  paragraph.className = "copies";
  paragraph.textContent = `${counted(count)} rows here`;
  return [paragraph];
}

/**
 * What the trust of a pane is called: by what tells the panes apart.
 * @param {import("./pane.js").Pane} pane
 * @param {import("./pane.js").Pane[]} panes
 */
function trustName(pane, panes) {
  if (panes.length < 2) return "trust";
  const [first, second] = panes.map(({ choice }) => choice);
  const { method, divergence } = pane.choice;
  if (divergence !== null && first.divergence !== second.divergence) return `trust, ${divergenceName(divergence)}`;
  return `trust, ${methodName(method)}`;
}

/**
 * @param {string} term
 * @param {string} value
 */
function line(term, value) {
  const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
  dt.textContent = named(term, 40);
  dt.title = dt.textContent;
  dd.append(...linked(value));
  dd.dir = "auto";
  return [dt, dd];
}

/**
 * A text whose addresses are links.
 * @param {string} text
 * @returns {(string | HTMLAnchorElement)[]}
 */
export function linked(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(LINK)) {
    const link = document.createElement("a");
    Object.assign(link, { href: found[0], target: "_blank", rel: "noopener noreferrer" });
    link.textContent = found[0];
    parts.push(text.slice(end, found.index), link);
    end = found.index + found[0].length;
  }
  return [...parts, text.slice(end)];
}
