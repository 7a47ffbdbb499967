// What a mouse, fingers and keys do to a pane: move, zoom, point, pick and select.

import { walk } from "./walking.js";

const CLICK = 4; // pixels that the pointer may move during a click
const FINGER = 24; // pixels from a point at which a finger points at it
const STEP = 40; // pixels that an arrow key moves the camera

/**
 * @typedef {import("./pane.js").Pane} Pane
 * @typedef {import("./types.js").Place} Place
 */

export class Gestures {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    /** @type {Map<number, Place>} where each finger, or the mouse with its button down, is */
    this.pointers = new Map();
    /** @type {{ x: number, y: number, dragged: boolean } | null} */
    this.pressed = null;
    this.listen(pane.canvas);
  }

  /** @param {HTMLCanvasElement} canvas */
  listen(canvas) {
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", (event) => {
      this.pointers.delete(event.pointerId);
      this.pane.cancel();
    });
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") this.pane.app.point(-1); // what was tapped stays
    });
    // One finger may scroll the page, where style.css says so; two zoom the pane alone.
    const alone = (/** @type {TouchEvent} */ event) => event.touches.length > 1 && event.preventDefault();
    canvas.addEventListener("touchstart", alone, { passive: false });
    canvas.addEventListener("touchmove", alone, { passive: false });
    canvas.addEventListener("dblclick", () => this.pane.fit());
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.pane.zoomBy(1.0015 ** -event.deltaY, [event.offsetX, event.offsetY]);
      },
      { passive: false },
    );
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button !== 0) return;
    const { pane } = this;
    pane.canvas.setPointerCapture(event.pointerId);
    /** @type {Place} */
    const at = [event.offsetX, event.offsetY];
    this.pointers.set(event.pointerId, at);
    if (this.pointers.size > 1) {
      pane.app.point(-1);
      pane.cancel(); // what the first finger had begun
      return;
    }
    this.pressed = { x: at[0], y: at[1], dragged: false };
    if (pane.app.tool === "lasso") pane.lasso = [pane.toPlane(at)];
  }

  /**
   * Two fingers: what is between them stays there.
   * @param {number} id
   * @param {Place} at
   */
  pinch(id, at) {
    const before = fingers([...this.pointers.values()]);
    this.pointers.set(id, at);
    const after = fingers([...this.pointers.values()]);
    if (this.pointers.size !== 2) return;
    const { zoom } = this.pane.camera;
    this.pane.moveBy(
      (before.middle[0] - after.middle[0]) / zoom,
      (after.middle[1] - before.middle[1]) / zoom,
    );
    this.pane.zoomBy(Math.max(after.apart, 1) / Math.max(before.apart, 1), after.middle);
  }

  /** @param {PointerEvent} event */
  move(event) {
    const { pane, pressed } = this;
    /** @type {Place} */
    const at = [event.offsetX, event.offsetY];
    if (this.pointers.size > 1) {
      if (this.pointers.has(event.pointerId)) this.pinch(event.pointerId, at);
      return;
    }
    if (!pressed) {
      if (!this.pointers.size) pane.app.point(pane.pick(at), event);
      return;
    }
    pressed.dragged ||= Math.hypot(at[0] - pressed.x, at[1] - pressed.y) > CLICK;
    if (!pressed.dragged) return;
    pane.app.point(-1);
    if (pane.lasso) {
      pane.lasso.push(pane.toPlane(at));
      pane.repaint();
    } else {
      const { zoom } = pane.camera;
      pane.moveBy((pressed.x - at[0]) / zoom, (at[1] - pressed.y) / zoom);
      [pressed.x, pressed.y] = at;
    }
  }

  /** @param {PointerEvent} event */
  release(event) {
    const { pane } = this;
    this.pointers.delete(event.pointerId);
    if (!this.pressed) return;
    const { dragged } = this.pressed;
    const loop = pane.lasso;
    pane.cancel();
    if (!dragged) {
      const finger = event.pointerType === "touch";
      const row = pane.pick([event.offsetX, event.offsetY], finger ? FINGER : undefined);
      pane.app.pick(row);
      if (finger) pane.app.point(row, event);
    } else if (loop && pane.grid) {
      const rows = pane.grid.within(loop).filter((row) => pane.app.visible[row]);
      pane.app.select(rows, event.shiftKey);
    }
  }

  cancel() {
    this.pressed = null;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { pane } = this;
    if (event.shiftKey && event.key.startsWith("Arrow")) {
      event.preventDefault();
      walk(pane, event.key);
      return;
    }
    const step = STEP / pane.camera.zoom;
    /** @type {Record<string, () => void>} */
    const actions = {
      "+": () => pane.zoomBy(1.25),
      "=": () => pane.zoomBy(1.25),
      "-": () => pane.zoomBy(0.8),
      0: () => pane.fit(),
      ArrowLeft: () => pane.moveBy(-step, 0),
      ArrowRight: () => pane.moveBy(step, 0),
      ArrowUp: () => pane.moveBy(0, step),
      ArrowDown: () => pane.moveBy(0, -step),
      n: () => walk(pane, "n"),
      p: () => walk(pane, "p"),
      Enter: () => {
        if (pane.app.pointed >= 0) pane.app.pick(pane.app.pointed);
      },
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  }
}

/**
 * How far apart two places are, and what is in the middle.
 * @param {Place[]} places
 * @returns {{ apart: number, middle: Place }}
 */
function fingers([[x, y], [otherX, otherY]]) {
  return {
    apart: Math.hypot(otherX - x, otherY - y),
    middle: [(x + otherX) / 2, (y + otherY) / 2],
  };
}
