// A pane: one embedding that can be moved, zoomed, pointed at and selected from.

import { showArrows } from "./arrows.js";
import { array } from "./data.js";
import { edgeColor, ramp } from "./colors.js";
import { bounds } from "./geometry.js";
import { Gestures } from "./gestures.js";
import { Renderer } from "./gl.js";
import { graphOf, gridOf, layoutOf } from "./kept.js";
import { labelsOf } from "./labels.js";
import { loadingsOf } from "./loadings.js";
import { drawOverlay } from "./overlay.js";
import { byId } from "./words.js";

const GLIDE = 700; // milliseconds from one embedding to the next
const LEAP = GLIDE / 5; // at most this much at once: where frames are late, eyes still follow
const REACH = 14; // pixels from a point at which it is pointed at
const MARGIN = 0.06; // of the pane, around all points
// While points move, as many are drawn as leave time for 60 frames a second, in milliseconds a frame.
const [IN_TIME, LATE] = [18, 22];
const [FEWEST_POINTS, FIRST_POINTS, MOST_POINTS] = [8000, 40_000, 2_000_000];
const REST = 150; // milliseconds without a move
const CROWDED = 4; // points over each other, from which on they are added up

const calm = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./geometry.js").Place} Place
 * @typedef {{ method: string, divergence: string | null }} Choice
 * @typedef {{ x: number, y: number, zoom: number }} Camera
 */

export class Pane {
  /**
   * @param {App} app what all panes share
   * @param {Choice} choice
   */
  constructor(app, choice) {
    this.app = app;
    this.choice = { ...choice };
    this.element = byId("pane-template").content.firstElementChild.cloneNode(true);
    /** @type {HTMLCanvasElement} */
    this.canvas = this.find(".points");
    this.over = this.find(".over");
    this.n = app.n;
    this.renderer = new Renderer(this.canvas, this.n);
    /** @type {Float32Array | null} of the view that is shown, or being glided to */
    this.places = null;
    /** @type {Float32Array | null} */
    this.before = null;
    this.share = 1;
    this.width = 0; // in pixels
    this.height = 0;
    /** @type {Camera} */
    this.camera = { x: 0, y: 0, zoom: 1 };
    this.fitted = true; // the camera follows the points, also in the next view
    /** @type {number[]} rows that it leaves out */
    this.beyond = [];
    this.arrows = "";
    this.meanTrust = 0;
    this.colors = new Uint8Array(4 * app.n);
    /** @type {import("./labels.js").Label[]} */
    this.labels = [];
    /** @type {import("./labels.js").Placed[]} where they are on the screen */
    this.placed = [];
    /** @type {import("./loadings.js").NamedArrow[]} */
    this.moved = [];
    /** @type {Place[] | null} */
    this.lasso = null;
    this.pace = IN_TIME;
    this.last = 0; // when the last frame on the move was
    this.late = false; // frames have come late once: on the move, points are not added up
    this.budget = FIRST_POINTS; // points that are drawn while they move
    this.drawable = 0;
    this.listen();
    this.gestures = new Gestures(this);
    new ResizeObserver(() => this.resize()).observe(this.find(".plot"));
  }

  /** @returns {any} */
  find(selector) {
    return this.element.querySelector(selector);
  }

  // ------------------------------------------------------------------ the view

  /** Glide to another view. */
  async show(view) {
    if (view === this.view) return;
    this.view = view;
    const [places, trust, loadings, ellipses] = await Promise.all([
      array(view.positions),
      array(view.trust),
      loadingsOf(view),
      view.ellipses && Promise.all(["centres", "axes", "angles"].map((part) => array(view.ellipses[part]))),
    ]);
    if (view !== this.view) return; // another one was chosen meanwhile
    this.before = this.places ? this.current() : places;
    this.places = places;
    const { box, beyond } = layoutOf(places);
    this.box = box;
    this.beyond = beyond;
    this.trust = trust;
    this.loadings = loadings;
    this.ellipses = ellipses;
    this.graph = null;
    this.drawable = 0;
    this.path = null;
    this.grid = null;
    this.renderer.setPlaces(this.before, places);
    this.gliding = 0; // milliseconds that the glide has taken
    this.glided = null; // when it went on last
    this.share = this.before === places || calm.matches ? 1 : 0;
    this.aim = this.fitted ? this.whole() : null;
    this.origin = { ...this.camera };
    this.app.shown(this);
    if (this.share === 1) this.arrive();
    this.repaint();
  }

  /** The graph is unpacked when it is needed first: it may be large. */
  async loadGraph() {
    const { view } = this;
    if (!("degrees" in view.graph)) return;
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
    if (!this.drawable) return { count: 0, from: 0 };
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
    const mix = (k) => this.before[k] + (this.places[k] - this.before[k]) * this.share;
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
    this.labels = this.places && this.share === 1 ? labelsOf(this) : [];
    this.repaint();
  }

  // ------------------------------------------------------------------ the camera

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
    if (!this.places) return;
    this.camera = this.whole();
    this.repaint();
    this.app.changed();
  }

  /** Show every point, however far the farthest is. */
  fitAll() {
    this.fitted = false;
    this.aim = null;
    this.camera = this.whole(bounds(this.places));
    this.stir();
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

  moveBy(x, y) {
    this.fitted = false;
    this.aim = null;
    this.camera.x += x;
    this.camera.y += y;
    this.stir();
  }

  resize() {
    const box = this.find(".plot").getBoundingClientRect();
    [this.width, this.height] = [box.width, box.height];
    this.ratio = Math.min(devicePixelRatio || 1, 2);
    for (const canvas of [this.canvas, this.over]) {
      canvas.width = Math.max(1, Math.round(this.width * this.ratio));
      canvas.height = Math.max(1, Math.round(this.height * this.ratio));
    }
    if (this.fitted && this.places) {
      if (this.share < 1) this.aim = this.whole();
      else this.camera = this.whole();
    }
    this.draw(performance.now());
  }

  // ------------------------------------------------------------------ drawing

  /** Things move: fewer points may be drawn until they rest. */
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

  repaint() {
    this.frame ??= requestAnimationFrame((now) => this.draw(now));
  }

  draw(now) {
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = null;
    if (!this.places || !this.width) return;
    this.glide(now);
    const { camera, app } = this;
    const scale = [(2 * camera.zoom) / this.width, (2 * camera.zoom) / this.height];
    this.renderer.draw({
      share: this.share,
      scale,
      shift: [-camera.x * scale[0], -camera.y * scale[1]],
      ratio: this.ratio,
      size: this.pointSize() * this.ratio,
      every: this.thinning(now),
      crowd: this.late && this.last ? 0 : this.crowd(),
      edges: this.edgesShown().count,
      faint: app.faint,
      ground: app.ground,
    });
    drawOverlay(this);
    showArrows(this);
    if (this.share < 1) this.repaint();
  }

  glide(now) {
    if (this.share >= 1) return;
    this.gliding += Math.min(Math.max(now - (this.glided ?? now), 0), LEAP);
    this.glided = now;
    this.share = this.gliding < GLIDE ? (1 - Math.cos((Math.PI * this.gliding) / GLIDE)) / 2 : 1;
    if (this.aim) {
      for (const part of ["x", "y", "zoom"]) {
        this.camera[part] = this.origin[part] + (this.aim[part] - this.origin[part]) * this.share;
      }
    }
    if (this.share === 1) this.arrive();
  }

  /** Every how many points one is drawn: all at rest, as many as frames leave time for on the move. */
  thinning(now) {
    const moved = this.last;
    this.last = this.share < 1 || this.moving ? now : 0;
    if (!this.last) return 1;
    if (moved) this.pace = 0.7 * this.pace + 0.3 * Math.min(now - moved, 200);
    this.late ||= this.pace > LATE;
    if (this.pace > LATE) this.budget = Math.max(0.7 * Math.min(this.budget, this.n), FEWEST_POINTS);
    if (this.pace < IN_TIME) this.budget = Math.min(1.2 * this.budget, MOST_POINTS);
    return this.budget < this.n ? Math.ceil(this.n / this.budget) : 1;
  }

  /** Diameter of a point in pixels: less for many points, more when they are zoomed in on. */
  pointSize() {
    const base = Math.min(Math.max(28 / this.n ** 0.2, 2), 9);
    const closer = this.camera.zoom / this.whole().zoom;
    return Math.min(base * Math.max(closer, 1) ** 0.3, 16);
  }

  /** How many points lie over each other where they are densest; 0 where hardly any do. */
  crowd() {
    if (!this.grid) return this.crowded ?? 0;
    const area = (Math.PI / 4) * (this.pointSize() / this.camera.zoom) ** 2;
    const most = this.grid.density * area;
    this.crowded = most > CROWDED ? most : 0;
    return this.crowded;
  }

  /** The graphics card has lost everything: give it again. */
  restore() {
    this.renderer = new Renderer(this.canvas, this.n);
    if (this.places) this.renderer.setPlaces(this.before, this.places);
    this.setTheme(this.app.theme);
    this.loadEdges();
    this.app.restyle([this]);
  }

  setColors(colors) {
    this.colors = colors;
    this.renderer.setColors(colors);
    if (this.app.layers.words === "classes") this.relabel(); // some may be hidden now
    this.repaint();
  }

  setTheme(theme) {
    this.renderer.setRamp(ramp(edgeColor, theme));
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => this.restore());
    this.find(".fit").addEventListener("click", () => this.fit());
    this.find(".tool-move").addEventListener("click", () => this.app.setTool("move"));
    this.find(".tool-lasso").addEventListener("click", () => this.app.setTool("lasso"));
    this.find(".close").addEventListener("click", () => this.app.closePane(this));
    for (const part of ["method", "divergence"]) {
      this.find(`.${part}`).addEventListener("change", (event) => {
        this.choice[part] = event.target.value;
        this.app.showViews();
        this.app.changed();
      });
    }
  }

  /** Choose a view as the lists above the pane do; what they do not have is left. */
  choose([method, divergence]) {
    const { methods, divergences } = this.app;
    if (methods.includes(method)) this.choice.method = method;
    if (divergences.includes(divergence)) this.choice.divergence = divergence;
    for (const part of ["method", "divergence"]) {
      const list = this.find(`.${part}`);
      if (list) list.value = this.choice[part];
    }
  }

  /** Move the camera so that a row is in sight. */
  reveal(row) {
    const [x, y] = this.toScreen(this.place(row));
    if (x > 0 && y > 0 && x < this.width && y < this.height) return;
    const [left, bottom] = this.place(row);
    this.moveBy(left - this.camera.x, bottom - this.camera.y);
  }

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
