// Points and edges drawn by the graphics card. Places are in textures, those of the view before and
// those of the view after a change: points glide by one number that says how far they have come.

/**
 * @typedef {import("./types.js").Frame} Frame
 * @typedef {WebGL2RenderingContext} Gl
 * @typedef {{ texture: WebGLTexture, format: number, type: number }} Texture
 * @typedef {"before" | "after" | "colors" | "ramp"} TextureName
 * @typedef {object} Program
 * @property {WebGLProgram} name
 * @property {Record<string, WebGLUniformLocation | null>} uniforms
 * @property {number} ends
 * @property {number} level
 */

/** @type {TextureName[]} */
const TEXTURES = ["before", "after", "colors", "ramp"];
const WIDTH = 2048; // of the textures; the least that WebGL 2 promises

const COMMON = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
uniform sampler2D before, after, colors;
uniform float share;
uniform vec2 scale, shift;
ivec2 texel(int i) { return ivec2(i % ${WIDTH}, i / ${WIDTH}); }
vec2 placed(int i) {
  vec2 place = mix(texelFetch(before, texel(i), 0).xy, texelFetch(after, texel(i), 0).xy, share);
  return place * scale + shift;
}
const vec4 NOWHERE = vec4(2.0, 2.0, 2.0, 1.0);
`;

const POINT_SHADERS = {
  vertex: `${COMMON}
uniform float size;
uniform int every;
uniform bool faint;
out vec4 color;
void main() {
  int i = gl_VertexID * every;
  color = texelFetch(colors, texel(i), 0);
  bool shown = color.a > 0.0 && (color.a < 0.5) == faint;
  gl_Position = shown ? vec4(placed(i), 0.0, 1.0) : NOWHERE;
  gl_PointSize = size;
}`,
  fragment: `#version 300 es
precision highp float;
uniform float size, weight, opacity;
uniform vec3 ground;
in vec4 color;
out vec4 result;
void main() {
  float radius = 0.5 * size;
  float away = length(gl_PointCoord - 0.5) * size;
  float disc = clamp(radius - away, 0.0, 1.0);
  // A rim in the colour of the ground keeps points apart that overlap.
  float rim = size > 7.0 && weight == 0.0 ? clamp(away - radius + 1.6, 0.0, 1.0) : 0.0;
  float covers = weight == 0.0 ? color.a * opacity : weight;
  result = vec4(mix(color.rgb, ground, 0.75 * rim), 1.0) * disc * covers;
}`,
};

// Where points overlap, their colours and how many they are have been added up: the mean colour, the
// stronger the more points there are.
const CROWD_SHADERS = {
  vertex: `#version 300 es
void main() { gl_Position = vec4(ivec2(gl_VertexID & 1, gl_VertexID >> 1) * 4 - 1, 0.0, 1.0); }`,
  fragment: `#version 300 es
precision highp float;
uniform highp sampler2D sums;
uniform float crowd, opacity;
out vec4 result;
void main() {
  vec4 sum = texelFetch(sums, ivec2(gl_FragCoord.xy), 0);
  if (sum.a <= 0.0) discard;
  float share = clamp(log(1.0 + sum.a) / log(1.0 + crowd), 0.0, 1.0);
  // The more points there are somewhere, the fainter a single one is elsewhere.
  float alone = clamp(0.9 - 0.12 * log(crowd), 0.3, 0.75);
  float alpha = min(sum.a * 2.0, 1.0) * mix(alone, 1.0, share) * opacity;
  result = vec4(sum.rgb / sum.a, 1.0) * alpha;
}`,
};
const FAINT_CROWD = 0.2; // opacity of points that are not meant

const EDGE_SHADERS = {
  vertex: `${COMMON}
uniform sampler2D ramp;
uniform vec2 viewport;
uniform float ratio;
in uvec2 ends;
in float level;
out vec4 color;
out float across_pixels, half_width;
void main() {
  int i = int(ends.x), j = int(ends.y);
  vec2 a = placed(i), b = placed(j);
  vec2 along = (b - a) * viewport;
  float far = length(along);
  vec2 across = far > 0.0 ? vec2(-along.y, along.x) / far : vec2(0.0);
  float wide = ratio * mix(0.7, 2.2, level);
  half_width = 0.5 * wide;
  // A pixel more on both sides, in which the edge fades.
  across_pixels = (gl_VertexID & 2) == 0 ? half_width + 1.0 : -half_width - 1.0;
  vec2 corner = (gl_VertexID & 1) == 0 ? a : b;
  corner += 2.0 * across_pixels * across / viewport;
  bool shown = texelFetch(colors, texel(i), 0).a > 0.0 && texelFetch(colors, texel(j), 0).a > 0.0;
  gl_Position = shown ? vec4(corner, 0.0, 1.0) : NOWHERE;
  color = vec4(texelFetch(ramp, ivec2(int(level * 255.0 + 0.5), 0), 0).rgb, mix(0.3, 0.95, level));
}`,
  fragment: `#version 300 es
precision highp float;
in vec4 color;
in float across_pixels, half_width;
out vec4 result;
void main() {
  float covers = clamp(half_width + 0.5 - abs(across_pixels), 0.0, 1.0);
  result = vec4(color.rgb, 1.0) * color.a * covers;
}`,
};

/** Draws one pane. */
export class Renderer {
  /**
   * Throws where the browser has no WebGL 2.
   * @param {HTMLCanvasElement} canvas
   * @param {number} n points
   */
  constructor(canvas, n) {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false });
    if (!gl) throw new Error("no WebGL 2");
    this.gl = gl;
    this.n = n;
    this.rows = Math.max(1, Math.ceil(n / WIDTH));
    this.points = program(gl, POINT_SHADERS);
    this.lines = program(gl, EDGE_SHADERS);
    this.crowds = program(gl, CROWD_SHADERS);
    // Sums of colours need floating point numbers; without, points are drawn over each other.
    this.sums = gl.getExtension("EXT_color_buffer_float") ? gl.createFramebuffer() : null;
    /** @type {{ texture: WebGLTexture, width: number, height: number } | null} what is added up */
    this.summed = null;
    /** @type {Record<TextureName, Texture>} */
    this.textures = {
      before: this.texture(gl.RG32F, this.rows, gl.RG, gl.FLOAT),
      after: this.texture(gl.RG32F, this.rows, gl.RG, gl.FLOAT),
      colors: this.texture(gl.RGBA8, this.rows, gl.RGBA, gl.UNSIGNED_BYTE),
      ramp: this.texture(gl.RGBA8, 1, gl.RGBA, gl.UNSIGNED_BYTE),
    };
    this.edges = { count: 0, ends: gl.createBuffer(), levels: gl.createBuffer() };
    this.none = gl.createVertexArray();
    this.quads = gl.createVertexArray();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /**
   * @param {number} internal
   * @param {number} rows
   * @param {number} format
   * @param {number} type
   * @returns {Texture}
   */
  texture(internal, rows, format, type) {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, internal, WIDTH, rows);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    }
    return { texture, format, type };
  }

  /**
   * Fill a texture from the start: whole rows, then what is left of the last.
   * @param {TextureName} name
   * @param {Float32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>} values
   * @param {number} parts
   */
  fill(name, values, parts) {
    const { gl } = this;
    const { texture, format, type } = this.textures[name];
    const count = values.length / parts;
    const whole = Math.floor(count / WIDTH);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    if (whole) gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, WIDTH, whole, format, type, values);
    const rest = values.subarray(whole * WIDTH * parts);
    if (rest.length) {
      const width = rest.length / parts;
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, whole, width, 1, format, type, rest);
    }
  }

  /**
   * @param {Float32Array<ArrayBuffer>} before
   * @param {Float32Array<ArrayBuffer>} after
   */
  setPlaces(before, after) {
    this.fill("before", before, 2);
    this.fill("after", after, 2);
  }

  /** @param {Uint8Array<ArrayBuffer>} colors */
  setColors(colors) {
    this.fill("colors", colors, 4);
  }

  /** @param {Uint8Array<ArrayBuffer>} colors */
  setRamp(colors) {
    this.fill("ramp", colors, 4);
  }

  /**
   * Edges by rising level, as pairs of points and levels from 0 to 255.
   * @param {Uint32Array<ArrayBuffer>} ends
   * @param {Uint8Array<ArrayBuffer>} levels
   */
  setEdges(ends, levels) {
    const { gl, edges } = this;
    edges.count = levels.length;
    gl.bindBuffer(gl.ARRAY_BUFFER, edges.ends);
    gl.bufferData(gl.ARRAY_BUFFER, ends, gl.STATIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, edges.levels);
    gl.bufferData(gl.ARRAY_BUFFER, levels, gl.STATIC_DRAW);
  }

  /**
   * Draw everything.
   * @param {Frame} frame
   */
  draw(frame) {
    const { gl } = this;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    const [red, green, blue] = frame.ground;
    gl.clearColor(red, green, blue, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    TEXTURES.forEach((name, unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, this.textures[name].texture);
    });
    this.drawPoints(frame);
    if (frame.edges) this.drawEdges(frame); // over the points: among many they would not be seen
  }

  /**
   * @param {Program} program
   * @param {Frame} frame
   */
  use({ name, uniforms }, frame) {
    const { gl } = this;
    gl.useProgram(name);
    TEXTURES.slice(0, 3).forEach((texture, unit) => gl.uniform1i(uniforms[texture], unit));
    gl.uniform1f(uniforms.share, frame.share);
    gl.uniform2fv(uniforms.scale, frame.scale);
    gl.uniform2fv(uniforms.shift, frame.shift);
  }

  /** @param {Frame} frame */
  drawPoints(frame) {
    const { gl, points } = this;
    // Faint points first, so that they cover none of the others.
    for (const faint of frame.faint ? [1, 0] : [0]) {
      const sums = frame.crowd > 0 && this.sums ? this.collect() : null;
      this.use(points, frame);
      gl.uniform1f(points.uniforms.size, frame.size);
      gl.uniform1i(points.uniforms.every, frame.every);
      gl.uniform1f(points.uniforms.weight, sums ? Math.min(frame.every, 64) : 0);
      gl.uniform3fv(points.uniforms.ground, frame.ground);
      gl.bindVertexArray(this.none);
      gl.uniform1i(points.uniforms.faint, faint);
      gl.uniform1f(points.uniforms.opacity, frame.opacity);
      gl.drawArrays(gl.POINTS, 0, Math.ceil(this.n / frame.every));
      if (sums) this.spread(sums, frame.crowd, (faint ? FAINT_CROWD : 1) * frame.opacity);
    }
  }

  /** Let what is drawn next be added up in a texture instead of shown. */
  collect() {
    const { gl } = this;
    const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.sums);
    gl.activeTexture(gl.TEXTURE4);
    let { summed } = this;
    if (!summed || summed.width !== width || summed.height !== height) {
      if (summed) gl.deleteTexture(summed.texture);
      summed = { texture: gl.createTexture(), width, height };
      gl.bindTexture(gl.TEXTURE_2D, summed.texture);
      gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA16F, width, height);
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, summed.texture, 0);
      this.summed = summed;
    }
    gl.bindTexture(gl.TEXTURE_2D, null); // not to be read while it is drawn to
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.blendFunc(gl.ONE, gl.ONE);
    return summed.texture;
  }

  /**
   * Show what was added up.
   * @param {WebGLTexture} sums
   * @param {number} crowd
   * @param {number} opacity
   */
  spread(sums, crowd, opacity) {
    const { gl, crowds } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.useProgram(crowds.name);
    gl.activeTexture(gl.TEXTURE4);
    gl.bindTexture(gl.TEXTURE_2D, sums);
    gl.uniform1i(crowds.uniforms.sums, 4);
    gl.uniform1f(crowds.uniforms.crowd, crowd);
    gl.uniform1f(crowds.uniforms.opacity, opacity);
    gl.bindVertexArray(this.none);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /** @param {Frame} frame */
  drawEdges(frame) {
    const { gl, edges, lines } = this;
    this.use(lines, frame);
    gl.uniform1i(lines.uniforms.ramp, 3);
    gl.uniform2f(lines.uniforms.viewport, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.uniform1f(lines.uniforms.ratio, frame.ratio);
    gl.bindVertexArray(this.quads);
    const count = Math.min(frame.edges, edges.count);
    const first = edges.count - count; // those of the highest level are the last
    gl.bindBuffer(gl.ARRAY_BUFFER, edges.ends);
    gl.enableVertexAttribArray(lines.ends);
    gl.vertexAttribIPointer(lines.ends, 2, gl.UNSIGNED_INT, 0, 8 * first);
    gl.vertexAttribDivisor(lines.ends, 1);
    gl.bindBuffer(gl.ARRAY_BUFFER, edges.levels);
    gl.enableVertexAttribArray(lines.level);
    gl.vertexAttribPointer(lines.level, 1, gl.UNSIGNED_BYTE, true, 0, first);
    gl.vertexAttribDivisor(lines.level, 1);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
  }
}

/**
 * @param {Gl} gl
 * @param {{ vertex: string, fragment: string }} shaders
 * @returns {Program}
 */
function program(gl, { vertex, fragment }) {
  const name = gl.createProgram();
  const sources = [{ type: gl.VERTEX_SHADER, source: vertex }, { type: gl.FRAGMENT_SHADER, source: fragment }];
  for (const { type, source } of sources) {
    const shader = gl.createShader(type);
    if (!shader) continue; // the graphics card is lost; it is given all of this again
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(name, shader);
  }
  gl.linkProgram(name);
  const linked = gl.getProgramParameter(name, gl.LINK_STATUS) || gl.isContextLost();
  if (!linked) throw new Error(gl.getProgramInfoLog(name) ?? "a shader does not work");
  /** @type {Program["uniforms"]} */
  const uniforms = {};
  for (let i = 0; i < gl.getProgramParameter(name, gl.ACTIVE_UNIFORMS); i++) {
    const uniform = gl.getActiveUniform(name, i)?.name ?? "";
    uniforms[uniform] = gl.getUniformLocation(name, uniform);
  }
  const [ends, level] = ["ends", "level"].map((attribute) => gl.getAttribLocation(name, attribute));
  return { name, uniforms, ends, level };
}
