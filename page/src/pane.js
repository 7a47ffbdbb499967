// A pane: one embedding that can be moved, zoomed, pointed at and selected from.

import { showArrows } from "./arrows.js";
import { array, floats } from "./data.js";
import { edgeColor, ramp } from "./colors.js";
import { Gestures } from "./gestures.js";
import { Renderer } from "./gl.js";
import { graphOf, gridOf, layoutOf } from "./kept.js";
import { labelsOf } from "./labels.js";
import { loadingsOf } from "./loadings.js";
import { selectNear } from "./near.js";
import { drawOverlay } from "./overlay.js";
import { Pace } from "./pace.js";
import { Sight } from "./sight.js";
import { byId, ofKind } from "./words.js";

const GLIDE = 700; // milliseconds from one embedding to the next
const LEAP = GLIDE / 5; // at most this much at once: where frames are late, eyes still follow
const REACH = 14; // pixels from a point at which it is pointed at
const REST = 150; // milliseconds without a move
const CROWDED = 4; // points over each other, from which on they are added up

const calm = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./types.js").Place} Place
 * @typedef {import("./types.js").Choice} Choice
 * @typedef {import("./types.js").View} View
 */

export class Pane extends Sight {
  /**
   * @param {App} app what all panes share
   * @param {Choice} choice
   */
  constructor(app, choice) {
    super();
    this.app = app;
    this.choice = { ...choice };
    const { content } = byId("pane-template", HTMLTemplateElement);
    this.element = ofKind(document.importNode(content, true).firstElementChild, "pane");
    this.canvas = this.find(".points", HTMLCanvasElement);
    this.over = this.find(".over", HTMLCanvasElement);
    this.n = app.n;
    this.renderer = new Renderer(this.canvas, this.n);
    /** @type {View | null} that is asked for, and may still be unpacked */
    this.wanted = null;
    this.before = this.places; // of the view before
    /** @type {ArrayLike<number>} from 0 to 255 */
    this.trust = [];
    /** @type {import("./types.js").Loadings | null} */
    this.loadings = null;
    /** @type {import("./types.js").Ellipses | null} */
    this.ellipses = null;
    /** @type {import("./graph.js").Graph | null} null until it is unpacked */
    this.graph = null;
    /** @type {import("./types.js").Path | null} */
    this.path = null;
    /** @type {import("./geometry.js").Grid | null} null while points glide */
    this.grid = null;
    /** @type {{ centre: Place, half: Place, angle: number } | null} of the patch that is drawn */
    this.ellipse = null;
    this.share = 1; // of the way from the view before
    this.gliding = 0; // milliseconds that the glide has taken
    /** @type {number | null} when it went on last */
    this.glided = null;
    this.ratio = 1; // pixels of the canvas in one of them
    /** @type {number[]} rows that it leaves out */
    this.beyond = [];
    this.arrows = "";
    this.meanTrust = 0;
    this.colors = new Uint8Array(4 * app.n);
    /** @type {import("./types.js").Label[]} */
    this.labels = [];
    /** @type {import("./types.js").Placed[]} where they are on the screen */
    this.placed = [];
    /** @type {import("./types.js").NamedArrow[]} */
    this.moved = [];
    /** @type {Place[] | null} */
    this.lasso = null;
    this.pace = new Pace(this.n);
    this.moving = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.resting = undefined;
    /** @type {number | null} that is to come */
    this.frame = null;
    this.drawable = 0; // edges
    this.crowded = 0;
    this.listen();
    this.gestures = new Gestures(this);
    new ResizeObserver(() => this.resize()).observe(this.find(".plot"));
  }

  /**
   * An element of the pane, of a kind.
   * @template {HTMLElement} [Kind=HTMLElement]
   * @param {string} selector
   * @param {{ new (): Kind }} [kind]
   * @returns {Kind}
   */
  find(selector, kind) {
    return ofKind(this.element.querySelector(selector), selector, kind);
  }

  // ------------------------------------------------------------------ the view

  /**
   * Glide to another view.
   * @param {View} view
   */
  async show(view) {
    if (view === this.wanted) return;
    this.wanted = view;
    const [places, trust, loadings, ellipses] = await Promise.all([
      floats(view.positions),
      array(view.trust),
      loadingsOf(view),
      ellipsesOf(view),
    ]);
    if (view !== this.wanted) return; // another one was chosen meanwhile
    this.before = this.view ? this.current() : places;
    const { box, beyond } = layoutOf(places);
    this.see(view, places, box);
    this.beyond = beyond;
    this.trust = trust;
    this.loadings = loadings;
    this.ellipses = ellipses;
    this.graph = null;
    this.drawable = 0;
    this.path = null;
    this.grid = null;
    this.renderer.setPlaces(this.before, places);
    this.gliding = 0;
    this.glided = null;
    this.share = this.before === places || calm.matches ? 1 : 0;
    this.aim = this.fitted ? this.whole() : null;
    this.origin = { ...this.camera };
    this.app.shown(this, view);
    if (this.share === 1) this.arrive();
    this.repaint();
  }

  /** The graph is unpacked when it is needed first: it may be large. */
  async loadGraph() {
    const { view } = this;
    if (!view || !("degrees" in view.graph)) return;
    const graph = await graphOf(view.graph);
    if (view !== this.view || this.graph === graph) return;
    this.graph = graph;
    this.loadEdges();
    this.app.routed(this);
  }

  /** Give the longest edges to the graphics card, if they are to be seen. */
  loadEdges() {
    this.drawable = 0;
    if (!this.graph || !this.app.layers.edges) return;
    const { lows, highs, colours, ranking } = this.graph;
    const count = ranking.order.length;
    const ends = new Uint32Array(2 * count);
    const levels = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      const edge = ranking.order[count - 1 - i];
      ends[2 * i] = lows[edge];
      ends[2 * i + 1] = highs[edge];
      levels[i] = Math.round(255 * ranking.scale.share(colours[edge]));
    }
    this.renderer.setEdges(ends, levels);
    this.drawable = count;
  }

  /** How many edges the slider asks for, and from which value. */
  edgesShown() {
    if (!this.drawable || !this.graph) return { count: 0, from: 0 };
    const wanted = Math.round(this.graph.edges ** this.app.layers.threshold);
    const count = Math.min(wanted, this.drawable);
    return { count, from: this.graph.ranking.values[count - 1] };
  }

  /** Places as they are in the middle of a glide. */
  current() {
    if (this.share >= 1) return this.places;
    return this.places.map((to, i) => this.before[i] + (to - this.before[i]) * this.share);
  }

  /**
   * @param {number} row
   * @returns {Place}
   */
  place(row) {
    const [i, j] = [2 * row, 2 * row + 1];
    const mix = (/** @type {number} */ k) => this.before[k] + (this.places[k] - this.before[k]) * this.share;
    return [mix(i), mix(j)];
  }

  arrive() {
    this.share = 1;
    this.before = this.places;
    if (this.aim) this.camera = this.aim;
    this.aim = null;
    this.grid = gridOf(this.places);
    this.relabel();
    this.loadGraph(); // not before: frames on the way would be late
  }

  /** Find the words on the map anew. */
  relabel() {
    this.labels = this.view && this.share === 1 ? labelsOf(this) : [];
    this.repaint();
  }

  // ------------------------------------------------------------------ drawing

  resize() {
    const box = this.find(".plot").getBoundingClientRect();
    [this.width, this.height] = [box.width, box.height];
    this.ratio = Math.min(devicePixelRatio || 1, 2);
    for (const canvas of [this.canvas, this.over]) {
      canvas.width = Math.max(1, Math.round(this.width * this.ratio));
      canvas.height = Math.max(1, Math.round(this.height * this.ratio));
    }
    if (this.fitted && this.view) {
      if (this.share < 1) this.aim = this.whole();
      else this.camera = this.whole();
    }
    this.draw(performance.now());
  }

  /**
   * Things move: fewer points may be drawn until they rest.
   * @override
   */
  stir() {
    this.moving = true;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.rest(), REST);
    this.app.changed();
    this.repaint();
  }

  /** Nothing moves any more, unless the last frame is still to come. */
  rest() {
    if (this.frame) {
      this.resting = setTimeout(() => this.rest(), REST);
      return;
    }
    this.moving = false;
    this.repaint();
  }

  /** @override */
  repaint() {
    this.frame ??= requestAnimationFrame((now) => this.draw(now));
  }

  /** @param {number} now */
  draw(now) {
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = null;
    if (!this.view || !this.width) return;
    this.glide(now);
    const { camera, app } = this;
    /** @type {Place} */
    const scale = [(2 * camera.zoom) / this.width, (2 * camera.zoom) / this.height];
    this.renderer.draw({
      share: this.share,
      scale,
      shift: [-camera.x * scale[0], -camera.y * scale[1]],
      ratio: this.ratio,
      size: this.pointSize() * this.ratio,
      every: this.pace.thinning(now, this.share < 1 || this.moving),
      crowd: this.pace.hurried ? 0 : this.crowd(),
      edges: this.edgesShown().count,
      faint: app.faint,
      opacity: app.look.opacity,
      ground: app.ground,
    });
    drawOverlay(this);
    showArrows(this);
    if (this.share < 1) this.repaint();
  }

  /** @param {number} now */
  glide(now) {
    if (this.share >= 1) return;
    this.gliding += Math.min(Math.max(now - (this.glided ?? now), 0), LEAP);
    this.glided = now;
    this.share = this.gliding < GLIDE ? (1 - Math.cos((Math.PI * this.gliding) / GLIDE)) / 2 : 1;
    for (const part of /** @type {const} */ (["x", "y", "zoom"])) {
      if (this.aim) this.camera[part] = this.origin[part] + (this.aim[part] - this.origin[part]) * this.share;
    }
    if (this.share === 1) this.arrive();
  }

  /** Diameter of a point in pixels: less for many points, more when they are zoomed in on. */
  pointSize() {
    const base = Math.min(Math.max(28 / this.n ** 0.2, 2), 9);
    const closer = this.camera.zoom / this.whole().zoom;
    return this.app.look.size * Math.min(base * Math.max(closer, 1) ** 0.3, 16);
  }

  /** How many points lie over each other where they are densest; 0 where hardly any do. */
  crowd() {
    if (!this.grid) return this.crowded;
    const area = (Math.PI / 4) * (this.pointSize() / this.camera.zoom) ** 2;
    const most = this.grid.density * area;
    this.crowded = most > CROWDED ? most : 0;
    return this.crowded;
  }

  /** The graphics card has lost everything: give it again. */
  restore() {
    this.renderer = new Renderer(this.canvas, this.n);
    if (this.view) this.renderer.setPlaces(this.before, this.places);
    this.setTheme(this.app.theme);
    this.loadEdges();
    this.app.restyle([this]);
  }

  /** @param {Uint8Array<ArrayBuffer>} colors */
  setColors(colors) {
    this.colors = colors;
    this.renderer.setColors(colors);
    if (this.app.layers.words === "classes") this.relabel(); // some may be hidden now
    this.repaint();
  }

  /** @param {import("./types.js").Theme} theme */
  setTheme(theme) {
    this.renderer.setRamp(ramp(edgeColor, theme));
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => this.restore());
    this.find(".near").addEventListener("click", () => selectNear(this));
    this.find(".fit").addEventListener("click", () => this.fit());
    this.find(".tool-move").addEventListener("click", () => this.app.setTool("move"));
    this.find(".tool-lasso").addEventListener("click", () => this.app.setTool("lasso"));
    this.find(".close").addEventListener("click", () => this.app.closePane(this));
    for (const part of /** @type {const} */ (["method", "divergence"])) {
      const list = this.find(`.${part}`, HTMLSelectElement);
      list.addEventListener("change", () => {
        this.choice[part] = list.value;
        this.app.showViews();
        this.app.changed();
      });
    }
  }

  /**
   * Choose a view as the lists above the pane do; what they do not have is left.
   * @param {unknown} method
   * @param {unknown} divergence
   */
  choose(method, divergence) {
    const { methods, divergences } = this.app;
    this.choice.method = methods.find((name) => name === method) ?? this.choice.method;
    this.choice.divergence = divergences.find((name) => name === divergence) ?? this.choice.divergence;
    this.find(".method", HTMLSelectElement).value = this.choice.method;
    // Where there is nothing to choose, there is no list.
    const list = this.element.querySelector(".divergence");
    if (list instanceof HTMLSelectElement) list.value = this.choice.divergence ?? "";
  }

  /**
   * How many rows that are seen have the same place as a row, this one among them.
   * @param {number} row
   */
  copies(row) {
    const [x, y] = [this.places[2 * row], this.places[2 * row + 1]];
    let count = 0;
    this.grid?.visit({ left: x, right: x, bottom: y, top: y }, (other) => {
      const same = this.places[2 * other] === x && this.places[2 * other + 1] === y;
      count += Number(same && this.app.visible[other] > 0);
    });
    return count;
  }

  /**
   * Move the camera so that a row is in sight.
   * @param {number} row
   */
  reveal(row) {
    const [x, y] = this.toScreen(this.place(row));
    if (x > 0 && y > 0 && x < this.width && y < this.height) return;
    const [left, bottom] = this.place(row);
    this.moveBy(left - this.camera.x, bottom - this.camera.y);
  }

  /** @param {import("./types.js").Tool} tool */
  setTool(tool) {
    this.canvas.classList.toggle("lasso", tool === "lasso");
    for (const name of ["move", "lasso"]) {
      this.find(`.tool-${name}`).setAttribute("aria-pressed", String(tool === name));
    }
  }

  /** Leave off what a finger or the mouse has begun. */
  cancel() {
    this.gestures.cancel();
    this.lasso = null;
    this.repaint();
  }

  /**
   * The point at a place of the pane, or -1.
   * @param {Place} at
   */
  pick(at, reach = REACH) {
    if (!this.grid) return -1;
    const [x, y] = this.toPlane(at);
    return this.grid.nearest(x, y, reach / this.camera.zoom, (row) => this.app.visible[row] > 0);
  }
}

/**
 * The patches of a view in the plane, null where it has none.
 * @param {View} view
 */
async function ellipsesOf({ ellipses }) {
  if (!ellipses) return null;
  const parts = [ellipses.centres, ellipses.axes, ellipses.angles].map(floats);
  const [centres, axes, angles] = await Promise.all(parts);
  return { centres, axes, angles };
}
