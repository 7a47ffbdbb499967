// Geometry of the plane: who is nearest to a place, who is within a loop, what an ellipse is.

/**
 * @typedef {import("./types.js").Place} Place
 * @typedef {import("./types.js").Box} Box
 */

/** Points sorted into square cells, to find the nearest one quickly. */
export class Grid {
  /** @param {Float32Array} positions x and y of every point */
  constructor(positions) {
    const n = positions.length / 2;
    this.positions = positions;
    this.box = bounds(positions);
    const { left, right, bottom, top } = this.box;
    const area = Math.max(right - left, 1e-9) * Math.max(top - bottom, 1e-9);
    // About two points a cell; no side so long that a thin layout makes endless rows.
    this.side = Math.max(Math.sqrt((2 * area) / n), (right - left) / 2000, (top - bottom) / 2000);
    this.columns = Math.floor((right - left) / this.side) + 1;
    this.rows = Math.floor((top - bottom) / this.side) + 1;
    const cells = new Uint32Array(n);
    this.starts = new Uint32Array(this.columns * this.rows + 1);
    for (let i = 0; i < n; i++) {
      cells[i] = this.cell(positions[2 * i], positions[2 * i + 1]);
      this.starts[cells[i] + 1]++;
    }
    for (let c = 0; c < this.columns * this.rows; c++) this.starts[c + 1] += this.starts[c];
    const free = this.starts.slice();
    this.points = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.points[free[cells[i]]++] = i;
  }

  /** Points in a unit of area where they lie densest: of 99 % of the points fewer are around. */
  get density() {
    if (this.dense === undefined) {
      const counts = new Uint32Array(this.points.length);
      for (let cell = 0; cell + 1 < this.starts.length; cell++) {
        counts.fill(this.starts[cell + 1] - this.starts[cell], this.starts[cell], this.starts[cell + 1]);
      }
      counts.sort();
      this.dense = counts[Math.floor(0.99 * (counts.length - 1))] / this.side ** 2;
    }
    return this.dense;
  }

  /** @param {number} x */
  column(x) {
    return Math.min(Math.max(Math.floor((x - this.box.left) / this.side), 0), this.columns - 1);
  }

  /** @param {number} y */
  row(y) {
    return Math.min(Math.max(Math.floor((y - this.box.bottom) / this.side), 0), this.rows - 1);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  cell(x, y) {
    return this.row(y) * this.columns + this.column(x);
  }

  /**
   * Call `visit` with every point in the cells of a rectangle.
   * @param {Box} box
   * @param {(row: number) => void} visit
   */
  visit({ left, right, bottom, top }, visit) {
    for (let row = this.row(bottom); row <= this.row(top); row++) {
      const start = row * this.columns;
      const from = this.starts[start + this.column(left)];
      const to = this.starts[start + this.column(right) + 1];
      for (let place = from; place < to; place++) visit(this.points[place]);
    }
  }

  /**
   * The nearest point within `reach` for which `allowed` holds, or -1.
   * @param {number} x
   * @param {number} y
   * @param {number} reach
   * @param {(row: number) => boolean} allowed
   */
  nearest(x, y, reach, allowed) {
    let best = -1;
    let least = reach * reach;
    const around = { left: x - reach, right: x + reach, bottom: y - reach, top: y + reach };
    this.visit(around, (i) => {
      const gap = (this.positions[2 * i] - x) ** 2 + (this.positions[2 * i + 1] - y) ** 2;
      if (gap <= least && allowed(i)) [best, least] = [i, gap];
    });
    return best;
  }

  /**
   * The points within a loop.
   * @param {Place[]} loop
   */
  within(loop) {
    /** @type {number[]} */
    const found = [];
    this.visit(bounds(loop.flat()), (i) => {
      if (inside(loop, this.positions[2 * i], this.positions[2 * i + 1])) found.push(i);
    });
    return found;
  }
}

// Fit shows what lies between these quantiles, and as much again as TAIL of it on each side.
const QUANTILE = 0.01;
const TAIL = 0.5;
const LOOKED_AT = 20_000; // points that quantiles are taken of

/**
 * The rectangle around all points but those far from the others.
 * @param {Float32Array} positions
 * @returns {Box}
 */
export function mainBox(positions) {
  const [left, right] = mainRange(positions, 2, 0);
  const [bottom, top] = mainRange(positions, 2, 1);
  const box = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity };
  for (let i = 0; i < positions.length; i += 2) {
    const [x, y] = [positions[i], positions[i + 1]];
    if (x < left || x > right || y < bottom || y > top) continue;
    box.left = Math.min(box.left, x);
    box.right = Math.max(box.right, x);
    box.bottom = Math.min(box.bottom, y);
    box.top = Math.max(box.top, y);
  }
  return box.left <= box.right ? box : bounds(positions);
}

/**
 * What lies between the quantiles of numbers, and something more on each side; all of it where most
 * numbers are the same.
 * @param {ArrayLike<number>} values of which one of `step` counts, from `start` on
 * @returns {[number, number]}
 */
export function mainRange(values, step = 1, start = 0) {
  const n = values.length / step;
  const every = Math.max(1, Math.floor(n / LOOKED_AT));
  const some = new Float64Array(Math.ceil(n / every));
  let count = 0;
  for (let i = 0; i < n; i += every) {
    const value = values[step * i + start];
    if (Number.isFinite(value)) some[count++] = value;
  }
  const sorted = some.subarray(0, count).sort();
  const [low, high] = [QUANTILE, 1 - QUANTILE].map((share) => sorted[Math.round(share * (count - 1))]);
  if (!(high > low)) return [-Infinity, Infinity];
  return [low - TAIL * (high - low), high + TAIL * (high - low)];
}

/**
 * The points outside of a rectangle.
 * @param {Float32Array} positions
 * @param {Box} box
 * @returns {number[]}
 */
export function outside(positions, { left, right, bottom, top }) {
  const rows = [];
  for (let row = 0; 2 * row < positions.length; row++) {
    const [x, y] = [positions[2 * row], positions[2 * row + 1]];
    if (x < left || x > right || y < bottom || y > top) rows.push(row);
  }
  return rows;
}

/**
 * The rectangle around points.
 * @param {ArrayLike<number>} positions
 * @returns {Box}
 */
export function bounds(positions) {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < positions.length; i += 2) {
    left = Math.min(left, positions[i]);
    right = Math.max(right, positions[i]);
    bottom = Math.min(bottom, positions[i + 1]);
    top = Math.max(top, positions[i + 1]);
  }
  return { left, right, bottom, top };
}

/**
 * Whether a place is within a loop: a ray from it crosses the loop an odd number of times.
 * @param {Place[]} loop
 * @param {number} x
 * @param {number} y
 */
function inside(loop, x, y) {
  let within = false;
  for (let i = 0, j = loop.length - 1; i < loop.length; j = i++) {
    const [xi, yi] = loop[i];
    const [xj, yj] = loop[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) within = !within;
  }
  return within;
}
