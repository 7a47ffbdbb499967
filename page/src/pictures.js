// Small pictures of the points, unpacked sheet by sheet when they are first needed.

import { array } from "./data.js";
import { penOf } from "./words.js";

export class Pictures {
  /** @param {import("./types.js").PackedPictures} packed */
  constructor(packed) {
    this.packed = packed;
    this.width = packed.width;
    this.height = packed.height;
    this.canvas = document.createElement("canvas"); // where one is put together
    this.canvas.width = packed.width;
    this.canvas.height = packed.height;
    /** @type {Map<number, import("./types.js").Numbers>} sheets that are unpacked */
    this.ready = new Map();
  }

  /**
   * Unpack the sheets of some rows.
   * @param {number[]} rows
   */
  async load(rows) {
    const { sheet, sheets } = this.packed;
    /** @type {Set<number>} */
    const missing = new Set();
    for (const row of rows) {
      const number = Math.floor(row / sheet);
      if (!this.ready.has(number)) missing.add(number);
    }
    const found = await Promise.all([...missing].map((number) => array(sheets[number])));
    [...missing].forEach((number, i) => this.ready.set(number, found[i]));
    return missing.size > 0;
  }

  /**
   * The picture of a row on a canvas that the next call uses again, or null before it is unpacked.
   * @param {number} row
   */
  of(row) {
    const { sheet, channels } = this.packed;
    const values = this.ready.get(Math.floor(row / sheet));
    if (!values) return null;
    const size = this.width * this.height;
    const start = (row % sheet) * size * channels;
    const image = new ImageData(this.width, this.height);
    for (let i = 0; i < size; i++) {
      for (let part = 0; part < 3; part++) {
        image.data[4 * i + part] = values[start + i * channels + (channels === 1 ? 0 : part)];
      }
      image.data[4 * i + 3] = 255;
    }
    penOf(this.canvas).putImageData(image, 0, 0);
    return this.canvas;
  }
}

/**
 * Draw a picture into a rectangle, its pixels sharp where they grow.
 * @param {CanvasRenderingContext2D} pen
 * @param {HTMLCanvasElement} picture
 * @param {import("./types.js").Rectangle} into
 */
export function drawPicture(pen, picture, { left, top, width, height }) {
  pen.imageSmoothingEnabled = width < picture.width;
  pen.drawImage(picture, left, top, width, height);
}
