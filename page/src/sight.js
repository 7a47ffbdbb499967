// Which part of the plane a pane shows.

import { bounds } from "./geometry.js";

const MARGIN = 0.06; // of the pane, around all points
const CLOSEST = 30; // times the zoom that shows all points

/**
 * @typedef {import("./types.js").Place} Place
 * @typedef {import("./types.js").Camera} Camera
 */

/** A camera over the places of a view. */
export class Sight {
  constructor() {
    /** @type {import("./types.js").View | null} that is shown, or being glided to */
    this.view = null;
    this.places = new Float32Array(0); // its points; none before there is a view
    /** @type {import("./types.js").Box} around most of them */
    this.box = { left: -1, right: 1, bottom: -1, top: 1 };
    this.width = 0; // in pixels
    this.height = 0;
    /** @type {Camera} */
    this.camera = { x: 0, y: 0, zoom: 1 };
    this.origin = this.camera; // where a glide began
    /** @type {Camera | null} where it ends, unless the camera stays */
    this.aim = null;
    this.fitted = true; // the camera follows the points, also in the next view
  }

  /**
   * @param {import("./types.js").View} view
   * @param {Float32Array<ArrayBuffer>} places
   * @param {import("./types.js").Box} box
   */
  see(view, places, box) {
    this.view = view;
    this.places = places;
    this.box = box;
  }

  /** The camera moves. */
  stir() {
    this.repaint();
  }

  repaint() {}

  /**
   * The camera that shows a rectangle: that of all points but the farthest.
   * @returns {Camera}
   */
  whole(box = this.box) {
    const { left, right, bottom, top } = box;
    const room = 1 - 2 * MARGIN;
    const zoom = Math.min(
      (this.width * room) / Math.max(right - left, 1e-6),
      (this.height * room) / Math.max(top - bottom, 1e-6),
    );
    return { x: (left + right) / 2, y: (bottom + top) / 2, zoom };
  }

  fit() {
    this.fitted = true;
    if (!this.view) return;
    this.camera = this.whole();
    this.stir();
  }

  /** Show every point, however far the farthest is. */
  fitAll(places = this.places) {
    this.fitted = false;
    this.aim = null;
    this.camera = this.whole(bounds(places));
    this.stir();
  }

  /**
   * Show some rows as large as can be; a point alone not at any size.
   * @param {number[]} rows
   */
  fitRows(rows) {
    this.fitAll(Float32Array.from(rows.flatMap((row) => [this.places[2 * row], this.places[2 * row + 1]])));
    this.camera.zoom = Math.min(this.camera.zoom, CLOSEST * this.whole().zoom);
  }

  /**
   * @param {Place} place
   * @returns {Place}
   */
  toScreen([x, y]) {
    const { camera } = this;
    return [
      (x - camera.x) * camera.zoom + this.width / 2,
      this.height / 2 - (y - camera.y) * camera.zoom,
    ];
  }

  /**
   * @param {Place} place
   * @returns {Place}
   */
  toPlane([x, y]) {
    const { camera } = this;
    return [
      (x - this.width / 2) / camera.zoom + camera.x,
      (this.height / 2 - y) / camera.zoom + camera.y,
    ];
  }

  /**
   * @param {number} factor
   * @param {Place} at what stays where it is
   */
  zoomBy(factor, at = [this.width / 2, this.height / 2]) {
    const fixed = this.toPlane(at);
    this.camera.zoom = Math.min(Math.max(this.camera.zoom * factor, 1), 1e7);
    const moved = this.toPlane(at);
    this.moveBy(fixed[0] - moved[0], fixed[1] - moved[1]);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  moveBy(x, y) {
    this.fitted = false;
    this.aim = null;
    this.camera.x += x;
    this.camera.y += y;
    this.stir();
  }
}
