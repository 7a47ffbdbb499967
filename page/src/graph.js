// The graph of a view: who is joined to whom, and the shortest path between two points.

import { array, floats } from "./data.js";
import { edgeScale } from "./colors.js";

/**
 * @typedef {import("./types.js").PackedEdges} PackedEdges
 * @typedef {import("./types.js").Path} Path
 * @typedef {{ order: Uint32Array, values: Float32Array, scale: ReturnType<typeof edgeScale> }} Ranking
 */

const DRAWN_EDGES = 200_000; // the largest ones; more cannot be told apart
const EDGE_LIMIT = 2 ** 22; // a graph of a page has fewer

/** A symmetric graph in rows: row i has the neighbours `targets[starts[i]..starts[i + 1])`. */
export class Graph {
  /** @param {PackedEdges} packed */
  static async load({ degrees, targets, lengths, colours }) {
    const parts = await Promise.all([array(degrees), array(targets), floats(lengths), floats(colours)]);
    return new Graph(...parts);
  }

  /**
   * Every edge is given once, from the smaller end: `degrees[i]` of them belong to row i.
   * @param {ArrayLike<number>} degrees
   * @param {ArrayLike<number>} uppers the other ends
   * @param {Float32Array<ArrayBuffer>} lengths
   * @param {Float32Array<ArrayBuffer>} colours
   */
  constructor(degrees, uppers, lengths, colours) {
    this.n = degrees.length;
    this.edges = uppers.length;
    this.lengths = lengths;
    this.colours = colours;
    this.lows = new Uint32Array(this.edges);
    this.highs = uppers;
    this.starts = new Uint32Array(this.n + 1);
    for (let i = 0, edge = 0; i < this.n; i++) {
      this.starts[i + 1] += degrees[i];
      for (let end = edge + degrees[i]; edge < end; edge++) {
        this.lows[edge] = i;
        this.starts[uppers[edge] + 1]++;
      }
    }
    /** @type {Ranking | undefined} */
    this.ranked = undefined;
    /** @type {number | undefined} */
    this.middle = undefined;
    for (let i = 0; i < this.n; i++) this.starts[i + 1] += this.starts[i];
    const free = this.starts.slice();
    this.targets = new Uint32Array(2 * this.edges);
    this.numbers = new Uint32Array(2 * this.edges); // which edge it is
    for (let edge = 0; edge < this.edges; edge++) {
      const [i, j] = [this.lows[edge], this.highs[edge]];
      this.targets[free[i]] = j;
      this.numbers[free[i]++] = edge;
      this.targets[free[j]] = i;
      this.numbers[free[j]++] = edge;
    }
  }

  /** The edges that can be drawn, the largest first, and what gives their values a colour. */
  get ranking() {
    return (this.ranked ??= this.rank());
  }

  /** @returns {Ranking} */
  rank() {
    // The bits of positive floating point numbers are ordered as the numbers are; with the number
    // of the edge behind them they fit into the 53 bits of a float64, which sort quickly.
    const bits = new Uint32Array(this.colours.buffer);
    const keys = new Float64Array(this.edges);
    for (let edge = 0; edge < this.edges; edge++) keys[edge] = bits[edge] * EDGE_LIMIT + edge;
    keys.sort();
    const order = new Uint32Array(Math.min(this.edges, DRAWN_EDGES));
    for (let i = 0; i < order.length; i++) order[i] = keys[this.edges - 1 - i] % EDGE_LIMIT;
    const values = this.colours.slice().sort().reverse();
    return { order, values, scale: edgeScale(values) };
  }

  /** The median length of an edge; of those longer than 0 where most are 0. */
  get median() {
    if (this.middle === undefined) {
      const sorted = this.lengths.slice().sort();
      const half = sorted[sorted.length >> 1];
      this.middle = half || sorted.find((length) => length > 0) || 1;
    }
    return this.middle;
  }

  /**
   * The neighbours of a row. Copies are joined by edges of no length, most of them to the first alone:
   * the neighbours of one are those of all.
   * @param {number} row
   */
  neighbors(row) {
    /** @type {Map<number, { row: number, length: number, colour: number }>} */
    const found = new Map();
    const copies = [row];
    for (const copy of copies) {
      for (let place = this.starts[copy]; place < this.starts[copy + 1]; place++) {
        const edge = this.numbers[place];
        const other = this.targets[place];
        if (other === row || found.has(other)) continue;
        found.set(other, { row: other, length: this.lengths[edge], colour: this.colours[edge] });
        if (!this.lengths[edge]) copies.push(other);
      }
    }
    return [...found.values()];
  }

  /**
   * The shortest path between two points (Dijkstra), or null where there is none.
   * @param {number} from
   * @param {number} to
   * @returns {Path | null}
   */
  path(from, to) {
    const distance = new Float64Array(this.n).fill(Infinity);
    const before = new Int32Array(this.n).fill(-1);
    const queue = new Queue();
    distance[from] = 0;
    queue.push(from, 0);
    while (queue.size) {
      const { item: row, key } = queue.pop();
      if (row === to) break;
      if (key > distance[row]) continue; // a longer way to a row that is done
      for (let place = this.starts[row]; place < this.starts[row + 1]; place++) {
        const next = this.targets[place];
        const through = key + this.lengths[this.numbers[place]];
        if (through < distance[next]) {
          distance[next] = through;
          before[next] = row;
          queue.push(next, through);
        }
      }
    }
    if (distance[to] === Infinity) return null;
    const rows = [to];
    for (let row = to; row !== from; ) {
      row = before[row];
      rows.push(row);
    }
    return { rows: rows.reverse(), length: distance[to] };
  }
}

/** A binary heap: the item with the least key comes first. */
class Queue {
  constructor() {
    this.items = new Uint32Array(1024);
    this.keys = new Float64Array(1024);
    this.size = 0;
  }

  /**
   * @param {number} item
   * @param {number} key
   */
  push(item, key) {
    if (this.size === this.items.length) {
      const [items, keys] = [this.items, this.keys];
      this.items = new Uint32Array(2 * this.size);
      this.items.set(items);
      this.keys = new Float64Array(2 * this.size);
      this.keys.set(keys);
    }
    let place = this.size++;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (this.keys[parent] <= key) break;
      this.items[place] = this.items[parent];
      this.keys[place] = this.keys[parent];
      place = parent;
    }
    this.items[place] = item;
    this.keys[place] = key;
  }

  pop() {
    const first = { item: this.items[0], key: this.keys[0] };
    const item = this.items[--this.size];
    const key = this.keys[this.size];
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= this.size) break;
      if (child + 1 < this.size && this.keys[child + 1] < this.keys[child]) child++;
      if (this.keys[child] >= key) break;
      this.items[place] = this.items[child];
      this.keys[place] = this.keys[child];
      place = child;
    }
    this.items[place] = item;
    this.keys[place] = key;
    return first;
  }
}
