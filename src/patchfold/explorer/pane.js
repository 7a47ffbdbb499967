// A pane: one embedding that can be moved, zoomed, pointed at and selected from.

import { array } from "./data.js";
import { edgeColor, ramp } from "./colors.js";
import { Grid, bounds } from "./geometry.js";
import { Renderer } from "./gl.js";
import { Graph } from "./graph.js";
import { drawOverlay } from "./overlay.js";
import { counted, rounded } from "./words.js";

const GLIDE = 700; // milliseconds from one embedding to the next
const LEAP = GLIDE / 5; // at most this much at once: where frames are late, eyes still follow
const CLICK = 4; // pixels that the pointer may move during a click
const REACH = 14; // pixels from a point at which it is pointed at
const FINGER = 24; // the same for a finger
const MARGIN = 0.06; // of the pane, around all points
// Beyond this many points, while they move and frames come slowly, a part of them is drawn.
const DRAWN_POINTS = 50_000;
const SLOW = 40; // milliseconds

const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Pane {
  /**
   * @param {object} app what all panes share
   * @param {{ method: string, divergence: string | null }} choice
   */
  constructor(app, choice) {
    this.app = app;
    this.choice = { ...choice };
    const template = document.getElementById("pane-template");
    this.element = template.content.firstElementChild.cloneNode(true);
    this.canvas = this.find(".points");
    this.over = this.find(".over");
    this.n = app.n;
    this.renderer = new Renderer(this.canvas, this.n);
    this.places = null; // of the view that is shown, or being glided to
    this.before = null;
    this.share = 1;
    this.camera = { x: 0, y: 0, zoom: 1 };
    this.fitted = true; // the camera shows all points, and does so in the next view, too
    this.lasso = null;
    this.pointers = new Map(); // where each finger, or the mouse with its button down, is
    this.pace = 0;
    this.drawable = 0;
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.find(".plot"));
  }

  find(selector) {
    return this.element.querySelector(selector);
  }

  // ------------------------------------------------------------------ the view

  /** Glide to another view. */
  async show(view) {
    if (view === this.view) return;
    this.view = view;
    const [places, trust, ellipses] = await Promise.all([
      array(view.positions),
      array(view.trust),
      view.ellipses === null ? null : array(view.ellipses),
    ]);
    if (view !== this.view) return; // another one was chosen meanwhile
    this.before = this.places ? this.current() : places;
    this.places = places;
    this.box = bounds(places);
    this.trust = trust;
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
    if (this.share === 1) this.arrive();
    this.app.shown(this);
    await this.loadGraph();
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
    this.grid = new Grid(this.places);
  }

  // ------------------------------------------------------------------ the camera

  /** The camera that shows all points. */
  whole() {
    const { left, right, bottom, top } = this.box;
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
  }

  toScreen([x, y]) {
    const { camera } = this;
    return [
      (x - camera.x) * camera.zoom + this.width / 2,
      this.height / 2 - (y - camera.y) * camera.zoom,
    ];
  }

  toPlane([x, y]) {
    const { camera } = this;
    return [
      (x - this.width / 2) / camera.zoom + camera.x,
      (this.height / 2 - y) / camera.zoom + camera.y,
    ];
  }

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
    this.resting = setTimeout(() => {
      this.moving = false;
      this.repaint();
    }, 150);
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
      edges: this.edgesShown().count,
      faint: app.faint,
      ground: app.ground,
    });
    drawOverlay(this);
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

  /** Every how many points one is drawn. */
  thinning(now) {
    const moving = this.share < 1 || this.moving;
    const passed = now - (this.last ?? now);
    this.last = now;
    if (!moving || passed > 1000) return 1;
    this.pace = 0.8 * this.pace + 0.2 * passed;
    return this.pace > SLOW && this.n > DRAWN_POINTS ? Math.ceil(this.n / DRAWN_POINTS) : 1;
  }

  /** Diameter of a point in pixels: less for many points, more when they are zoomed in on. */
  pointSize() {
    const base = Math.min(Math.max(28 / this.n ** 0.2, 2), 9);
    const closer = this.camera.zoom / this.whole().zoom;
    return Math.min(base * Math.max(closer, 1) ** 0.3, 16);
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
    this.renderer.setColors(colors);
    this.repaint();
  }

  setTheme(theme) {
    this.renderer.setRamp(ramp(edgeColor, theme));
  }

  // ------------------------------------------------------------------ pointer and keys

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", (event) => {
      this.pointers.delete(event.pointerId);
      this.cancel();
    });
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") this.app.point(-1); // what was tapped stays
    });
    // One finger may scroll the page, where style.css says so; two zoom the pane alone.
    const alone = (event) => event.touches.length > 1 && event.preventDefault();
    canvas.addEventListener("touchstart", alone, { passive: false });
    canvas.addEventListener("touchmove", alone, { passive: false });
    canvas.addEventListener("dblclick", () => this.fit());
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => this.restore());
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoomBy(1.0015 ** -event.deltaY, [event.offsetX, event.offsetY]);
      },
      { passive: false },
    );
    this.find(".fit").addEventListener("click", () => this.fit());
    this.find(".tool-move").addEventListener("click", () => this.app.setTool("move"));
    this.find(".tool-lasso").addEventListener("click", () => this.app.setTool("lasso"));
    this.find(".close").addEventListener("click", () => this.app.closePane(this));
    for (const part of ["method", "divergence"]) {
      this.find(`.${part}`).addEventListener("change", (event) => {
        this.choice[part] = event.target.value;
        this.app.showViews();
      });
    }
  }

  setTool(tool) {
    this.canvas.classList.toggle("lasso", tool === "lasso");
    for (const name of ["move", "lasso"]) {
      this.find(`.tool-${name}`).setAttribute("aria-pressed", String(tool === name));
    }
  }

  press(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const at = [event.offsetX, event.offsetY];
    this.pointers.set(event.pointerId, at);
    if (this.pointers.size > 1) {
      this.app.point(-1);
      this.cancel(); // what the first finger had begun
      return;
    }
    this.pressed = { x: at[0], y: at[1], dragged: false };
    if (this.app.tool === "lasso") this.lasso = [this.toPlane(at)];
  }

  /** Two fingers: what is between them stays there. */
  pinch(id, at) {
    const before = fingers([...this.pointers.values()]);
    this.pointers.set(id, at);
    const after = fingers([...this.pointers.values()]);
    if (this.pointers.size !== 2) return;
    const { zoom } = this.camera;
    this.moveBy(
      (before.middle[0] - after.middle[0]) / zoom,
      (after.middle[1] - before.middle[1]) / zoom,
    );
    this.zoomBy(Math.max(after.apart, 1) / Math.max(before.apart, 1), after.middle);
  }

  move(event) {
    const at = [event.offsetX, event.offsetY];
    if (this.pointers.size > 1) {
      if (this.pointers.has(event.pointerId)) this.pinch(event.pointerId, at);
      return;
    }
    if (!this.pressed) {
      if (!this.pointers.size) this.app.point(this.pick(at), event);
      return;
    }
    const { pressed } = this;
    pressed.dragged ||= Math.hypot(at[0] - pressed.x, at[1] - pressed.y) > CLICK;
    if (!pressed.dragged) return;
    this.app.point(-1);
    if (this.lasso) {
      this.lasso.push(this.toPlane(at));
      this.repaint();
    } else {
      this.moveBy((pressed.x - at[0]) / this.camera.zoom, (at[1] - pressed.y) / this.camera.zoom);
      [pressed.x, pressed.y] = at;
    }
  }

  release(event) {
    this.pointers.delete(event.pointerId);
    if (!this.pressed) return;
    const { dragged } = this.pressed;
    const loop = this.lasso;
    this.cancel();
    if (!dragged) {
      const finger = event.pointerType === "touch";
      const row = this.pick([event.offsetX, event.offsetY], finger ? FINGER : REACH);
      this.app.pick(row);
      if (finger) this.app.point(row, event);
    } else if (loop && this.grid) {
      const rows = this.grid.within(loop).filter((row) => this.app.visible[row]);
      this.app.select(rows, event.shiftKey);
    }
  }

  cancel() {
    this.pressed = null;
    this.lasso = null;
    this.repaint();
  }

  /** The point at a place of the pane, or -1. */
  pick(at, reach = REACH) {
    if (!this.grid) return -1;
    const [x, y] = this.toPlane(at);
    return this.grid.nearest(x, y, reach / this.camera.zoom, (row) => this.app.visible[row]);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = 40 / this.camera.zoom;
    const actions = {
      "+": () => this.zoomBy(1.25),
      "=": () => this.zoomBy(1.25),
      "-": () => this.zoomBy(0.8),
      0: () => this.fit(),
      ArrowLeft: () => this.moveBy(-step, 0),
      ArrowRight: () => this.moveBy(step, 0),
      ArrowUp: () => this.moveBy(0, step),
      ArrowDown: () => this.moveBy(0, -step),
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  }

  // ------------------------------------------------------------------ words

  /** Say below the pane what it shows. */
  describe(meanTrust) {
    const { view } = this;
    const parts = this.pathWords();
    parts.push(`trust ${meanTrust.toFixed(2)}`, `${counted(view.graph.edges)} edges`);
    if (!("degrees" in view.graph)) parts.push("too many for this page");
    const shown = this.edgesShown();
    if (shown.count) parts.push(`${counted(shown.count)} shown, from ${rounded(shown.from)}`);
    const foot = this.find(".pane-foot");
    foot.textContent = [...parts, ...view.notes].join(" · ");
    foot.title = foot.textContent;
  }

  pathWords() {
    if (!this.graph || this.app.ends.length < 2) return [];
    if (!this.path) return ["no path"];
    const steps = this.path.rows.length - 1;
    const words = `path: ${steps} ${steps === 1 ? "step" : "steps"}`;
    return [`${words}, length ${rounded(this.path.length)}`];
  }
}

/** How far apart two places are, and what is in the middle. */
function fingers([[x, y], [otherX, otherY]]) {
  return {
    apart: Math.hypot(otherX - x, otherY - y),
    middle: [(x + otherX) / 2, (y + otherY) / 2],
  };
}

const graphs = new Map();

/** Views share graphs where their arrays are the same. */
function graphOf(packed) {
  const key = [packed.degrees, packed.targets, packed.lengths, packed.colours].join();
  if (!graphs.has(key)) graphs.set(key, Graph.load(packed));
  return graphs.get(key);
}
