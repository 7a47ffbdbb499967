// From point to point by the keyboard.

import { clipped, named } from "./words.js";

/**
 * @typedef {import("./pane.js").Pane} Pane
 * @typedef {import("./types.js").Place} Place
 */

const ASIDE = 2; // how much farther a point seems for every step to the side
/** @type {Record<string, Place>} */
const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const MOST_SAID = 4; // columns

/**
 * The nearest visible point in the direction of a key, -1 where there is none.
 * @param {Float32Array} places
 * @param {number} from
 * @param {string} key
 * @param {(row: number) => boolean} allowed
 */
export function towards(places, from, key, allowed) {
  const [across, up] = DIRECTIONS[key];
  let [best, least] = [-1, Infinity];
  for (let row = 0; 2 * row < places.length; row++) {
    if (row === from || !allowed(row)) continue;
    const [x, y] = [0, 1].map((part) => places[2 * row + part] - places[2 * from + part]);
    const along = x * across + y * up;
    const aside = Math.abs(x * up) + Math.abs(y * across);
    const far = along + ASIDE * aside;
    // Straight ahead or a little to the side: every other point is ahead in some direction.
    if (along > 0 && along >= aside && far < least) [best, least] = [row, far];
  }
  return best;
}

/**
 * Walk from the point that is pointed at, or begin with the one in the middle.
 * @param {Pane} pane
 * @param {string} key an arrow, or "n" and "p" for the next and the last row
 */
export function walk(pane, key) {
  const { app } = pane;
  const allowed = (/** @type {number} */ row) => app.visible[row] > 0;
  if (!pane.grid) return;
  let row = app.pointed;
  if (row < 0) row = pane.grid.nearest(pane.camera.x, pane.camera.y, Infinity, allowed);
  else if (key in DIRECTIONS) row = towards(pane.places, row, key, allowed);
  else row = nextRow(row, key === "n" ? 1 : -1, app.n, allowed);
  if (row >= 0) goTo(pane, row);
}

/**
 * @param {number} row
 * @param {number} step
 * @param {number} n
 * @param {(row: number) => boolean} allowed
 */
function nextRow(row, step, n, allowed) {
  for (let i = 1; i <= n; i++) {
    const next = (row + step * i + n * i) % n;
    if (allowed(next)) return next;
  }
  return -1;
}

/**
 * Point at a row, bring it into sight, and say what it is.
 * @param {Pane} pane
 * @param {number} row
 */
function goTo(pane, row) {
  const { app } = pane;
  pane.reveal(row);
  const { left, top } = pane.canvas.getBoundingClientRect();
  const [x, y] = pane.toScreen(pane.place(row));
  app.point(row, { clientX: left + x, clientY: top + y });
  const cells = app.columns.slice(0, MOST_SAID).map((column) => `${named(column.name, 40)} ${column.shown(row, 60)}`);
  app.say([clipped(app.nameOf(row), 120), ...cells].join(", "));
}
