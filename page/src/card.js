// The card beside the pointer: the row that is pointed at.

import { byId, clipped, named } from "./words.js";

const MOST_ROWS = 12; // columns on the card
const AWAY = 18; // pixels from the pointer

export class Card {
  constructor(app) {
    this.app = app;
    this.element = byId("card");
    this.row = -1;
  }

  hide() {
    this.element.hidden = true;
    this.row = -1; // what it says may change until it is shown again
  }

  show(row, { clientX, clientY }) {
    const { element } = this;
    if (row !== this.row) element.replaceChildren(...this.lines(row));
    this.row = row;
    element.hidden = false;
    const { width, height } = element.getBoundingClientRect();
    const right = clientX + AWAY + width < innerWidth;
    const left = right ? clientX + AWAY : Math.max(clientX - AWAY - width, 4);
    const top = Math.max(Math.min(clientY + 12, innerHeight - height - 8), 4);
    Object.assign(element.style, { left: `${left}px`, top: `${top}px` });
  }

  lines(row) {
    const { app } = this;
    const name = document.createElement("strong");
    name.dir = "auto";
    name.textContent = clipped(app.nameOf(row), 120);
    const list = document.createElement("dl");
    const first = app.columns[byId("colour").selectedIndex];
    const columns = [first, ...app.columns.filter((column) => column !== first)].filter(Boolean);
    for (const column of columns.slice(0, MOST_ROWS)) {
      list.append(...line(column.name, column.shown(row, 120)));
    }
    const trust = app.panes.filter((pane) => pane.trust).map((pane) => pane.trust[row] / 255);
    list.append(...line("trust", trust.map((value) => value.toFixed(2)).join(" | ")));
    const more = columns.length - MOST_ROWS;
    if (more <= 0) return [name, list];
    const rest = document.createElement("p");
    rest.className = "quiet";
    rest.textContent = `and ${more} more`;
    return [name, list, rest];
  }
}

function line(term, value) {
  const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
  dt.textContent = named(term, 40);
  dd.textContent = value;
  dd.dir = "auto";
  return [dt, dd];
}
