// The card beside the pointer: the row that is pointed at.

import { loadingLines } from "./loadings.js";
import { drawPicture } from "./pictures.js";
import { byId, clipped, divergenceName, methodName, named } from "./words.js";

const MOST_ROWS = 12; // columns on the card
const FEW_ROWS = 6; // columns beside a text, a picture or loadings
const AWAY = 18; // pixels from the pointer
const NEAR = 6; // pixels around a neighbour that stay free
const STEP = 48; // pixels between two places that are tried
const PICTURE = 112; // pixels, the longer side of a picture
const MOST_LETTERS = 4000; // of a text
const LINK = /https?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]}]/g;

/**
 * @typedef {import("./app.js").App} App
 * @typedef {{ left: number, top: number, width: number, height: number }} Rectangle
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

  /** Let the card stay, so that its links can be reached and its text be scrolled. */
  pin(on) {
    const { element } = this;
    const useful = element.querySelector("a") || element.scrollHeight > element.clientHeight + 1;
    this.pinned = Boolean(on && this.row >= 0 && useful);
    element.classList.toggle("pinned", this.pinned);
    if (!on) this.hide();
  }

  /** Show a row beside the pointer. */
  show(row, { clientX, clientY }) {
    const { element } = this;
    if (this.pinned || (row === this.row && !element.hidden)) return;
    element.replaceChildren(...this.lines(row));
    this.row = row;
    element.hidden = false;
    const { width, height } = element.getBoundingClientRect();
    const [left, top] = freePlace([clientX, clientY], [width, height], this.explained(row));
    Object.assign(element.style, { left: `${left}px`, top: `${top}px` });
  }

  /** Where the point and its neighbours are in the window, in all panes. */
  explained(row) {
    return this.app.panes.flatMap((pane) => {
      if (!pane.places) return [];
      const { left, top } = pane.canvas.getBoundingClientRect();
      const rows = [row, ...(pane.graph?.neighbors(row) ?? []).map((neighbor) => neighbor.row)];
      return rows
        .map((one) => pane.toScreen(pane.place(one)))
        .filter(([x, y]) => x > 0 && y > 0 && x < pane.width && y < pane.height)
        .map(([x, y]) => [left + x, top + y]);
    });
  }

  lines(row) {
    const { app } = this;
    const name = document.createElement("strong");
    name.dir = "auto";
    name.textContent = clipped(app.nameOf(row), 120);
    const list = document.createElement("dl");
    const first = app.columns[byId("colour").selectedIndex];
    const columns = [first, ...app.columns.filter((column) => column !== first)].filter(
      (column) => column && column !== app.text,
    );
    const loadings = loadingLines(row, app);
    const most = app.text || app.pictures || loadings.length ? FEW_ROWS : MOST_ROWS;
    for (const column of columns.slice(0, most)) {
      list.append(...line(column.name, column.shown(row, 120)));
    }
    for (const pane of app.panes.filter(({ trust }) => trust)) {
      list.append(...line(trustName(pane, app.panes), (pane.trust[row] / 255).toFixed(2)));
    }
    const parts = [name, ...this.picture(row), ...this.text(row), ...loadings, list];
    const more = columns.length - most;
    if (more > 0) {
      const rest = document.createElement("p");
      rest.className = "quiet";
      rest.textContent = `and ${more} more`;
      parts.push(rest);
    }
    return parts;
  }

  picture(row) {
    const { pictures } = this.app;
    if (!pictures) return [];
    const canvas = document.createElement("canvas");
    const grow = PICTURE / Math.max(pictures.width, pictures.height);
    canvas.width = Math.round(pictures.width * grow);
    canvas.height = Math.round(pictures.height * grow);
    canvas.className = "picture";
    pictures.load([row]).then(() => {
      drawPicture(canvas.getContext("2d"), pictures.of(row), 0, 0, canvas.width, canvas.height);
    });
    return [canvas];
  }

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

/** What the trust of a pane is called: by what tells the panes apart. */
function trustName(pane, panes) {
  if (panes.length < 2) return "trust";
  const [first, second] = panes.map(({ choice }) => choice);
  const { method, divergence } = pane.choice;
  if (first.divergence !== second.divergence) return `trust, ${divergenceName(divergence)}`;
  return `trust, ${methodName(method)}`;
}

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

/**
 * Where a card of a size covers the fewest places, as near to the pointer as can be.
 * @param {[number, number]} pointer
 * @param {[number, number]} size
 * @param {number[][]} places
 * @param {[number, number]} room the size of the window
 * @returns {[number, number]} left and top
 */
export function freePlace(
  [x, y],
  [width, height],
  places,
  room = [innerWidth, innerHeight],
) {
  const [right, bottom] = [Math.max(room[0] - width - 4, 4), Math.max(room[1] - height - 4, 4)];
  const along = (end, ...first) => {
    const found = first.map((value) => Math.min(Math.max(value, 4), end));
    for (let value = 4; value < end; value += STEP) found.push(value);
    return [...found, end];
  };
  let best = { cost: Infinity, left: 4, top: 4 };
  for (const left of along(right, x + AWAY, x - AWAY - width)) {
    for (const top of along(bottom, y + 12, y - 12 - height)) {
      const covered = places.filter(
        (at) =>
          at[0] > left - NEAR && at[0] < left + width + NEAR && at[1] > top - NEAR && at[1] < top + height + NEAR,
      ).length;
      const gap = Math.hypot(
        Math.max(left - x, x - left - width, 0),
        Math.max(top - y, y - top - height, 0),
      );
      const under = x > left - 4 && x < left + width + 4 && y > top - 4 && y < top + height + 4;
      const cost = 1e6 * covered + (under ? 1e7 : 0) + gap;
      if (cost < best.cost) best = { cost, left, top };
    }
  }
  return [best.left, best.top];
}
