// The contact sheet: the pictures of the selected rows, of which only those in sight are drawn.

import { drawPicture } from "./pictures.js";
import { penOf } from "./words.js";

const CELL = 56; // pixels, the longer side of a picture
const GAP = 6;
const MARGIN = 12;

/** @typedef {import("./pictures.js").Pictures} Pictures */

export class ContactSheet {
  /**
   * @param {HTMLElement} place
   * @param {Pictures} pictures
   * @param {import("./types.js").Actions} actions
   */
  constructor(place, pictures, actions) {
    this.place = place;
    this.pictures = pictures;
    this.actions = actions;
    /** @type {number[]} */
    this.rows = [];
    this.drawn = 0; // how often
    const grow = CELL / Math.max(pictures.width, pictures.height);
    this.width = Math.round(pictures.width * grow);
    this.height = Math.round(pictures.height * grow);
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.room = document.createElement("div"); // as high as all pictures
    place.append(this.canvas, this.room);
    place.addEventListener("scroll", () => this.draw());
    this.canvas.addEventListener("pointermove", (event) => {
      const row = this.at(event);
      actions.point(row, row < 0 ? undefined : event);
      this.draw();
    });
    this.canvas.addEventListener("pointerleave", () => actions.point(-1));
    this.canvas.addEventListener("click", (event) => {
      const row = this.at(event);
      if (row >= 0) actions.pick(row);
    });
    new ResizeObserver(() => this.draw()).observe(place);
  }

  /** @param {number[]} rows */
  show(rows) {
    this.rows = rows;
    this.canvas.setAttribute("aria-label", `Pictures of the ${rows.length} selected rows`);
    this.place.scrollTop = 0;
    this.draw();
  }

  get columns() {
    return Math.max(1, Math.floor((this.place.clientWidth - 2 * MARGIN + GAP) / (this.width + GAP)));
  }

  /**
   * The row whose picture is at the pointer, or -1.
   * @param {MouseEvent} event
   */
  at({ offsetX, offsetY }) {
    const column = Math.floor((offsetX - MARGIN) / (this.width + GAP));
    const line = Math.floor((offsetY + this.place.scrollTop - MARGIN) / (this.height + GAP));
    if (column < 0 || column >= this.columns || line < 0) return -1;
    return this.rows[line * this.columns + column] ?? -1;
  }

  async draw() {
    const { place, canvas, columns } = this;
    const [width, height] = [place.clientWidth, place.clientHeight];
    if (!width || !height) return;
    const step = this.height + GAP;
    this.room.style.height = `${Math.ceil(this.rows.length / columns) * step + 2 * MARGIN - height}px`;
    const first = Math.max(0, Math.floor((place.scrollTop - MARGIN) / step)) * columns;
    const seen = this.rows.slice(first, first + (Math.ceil(height / step) + 1) * columns);
    const drawn = ++this.drawn;
    await this.pictures.load(seen);
    if (drawn !== this.drawn) return; // others are in sight meanwhile
    const ratio = Math.min(devicePixelRatio || 1, 2);
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = penOf(canvas);
    pen.scale(ratio, ratio);
    seen.forEach((row, i) => {
      const x = MARGIN + (i % columns) * (this.width + GAP);
      const y = MARGIN + Math.floor((first + i) / columns) * step - place.scrollTop;
      const picture = this.pictures.of(row);
      if (picture) drawPicture(pen, picture, { left: x, top: y, width: this.width, height: this.height });
      if (!this.actions.isPointed(row)) return;
      pen.strokeStyle = this.actions.accent();
      pen.lineWidth = 3;
      pen.strokeRect(x - 1.5, y - 1.5, this.width + 3, this.height + 3);
    });
  }
}
