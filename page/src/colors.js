// Colours that readers with any colour vision can tell apart.

/**
 * @typedef {import("./types.js").Theme} Theme
 * @typedef {import("./types.js").Color} Color
 * @typedef {import("./types.js").Colors} Colors
 */

// Okabe and Ito's palette, with the black left out and the yellow darkened for a light ground, then
// tints between them.
const CLASSES = [
  "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a5ca8",
  "#004b75", "#8c5f00", "#00634a", "#8f4573", "#8fd0f5", "#f2a07b", "#9c9c5c", "#b9a6dc",
].map(fromHex);
/** Whole numbers of more values are a scale. */
export const MOST_NUMBERS = CLASSES.length;
/** Categories beyond this many share one colour. */
export const MOST_CLASSES = 200;

// Viridis (van der Walt and Smith), at equal steps.
const VIRIDIS = [
  "#440154", "#482475", "#414487", "#355f8d", "#2a788e", "#21918c", "#22a884", "#44bf70",
  "#7ad151", "#bddf26", "#fde725",
].map(fromHex);
// Its ends fade into a dark and into a light ground: every colour has a contrast of 3 with a dark one.
const RANGE = { light: [0, 0.93], dark: [0.36, 1] };

const EDGE_COLORS = {
  light: ["#c3cad3", "#b7b3c0", "#e0a06f", "#d55e00", "#8f1d00"].map(fromHex),
  dark: ["#3d4651", "#5a5f75", "#b3683f", "#f08a3c", "#ffd68a"].map(fromHex),
};
const GREY = { light: fromHex("#b4b9c0"), dark: fromHex("#5c636d") };

/**
 * @param {string} text
 * @returns {Color}
 */
function fromHex(text) {
  return [1, 3, 5].map((start) => parseInt(text.slice(start, start + 2), 16));
}

/**
 * @param {Color[]} stops
 * @param {number} share
 * @returns {Color}
 */
function between(stops, share) {
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  return stops[low].map((value, i) => value + (stops[low + 1][i] - value) * (place - low));
}

// How light (in OKLab) colours must be so as not to fade into the ground.
/** @type {Record<Theme, [number, number]>} */
const LIGHTNESS = { light: [0.38, 0.84], dark: [0.54, 0.9] };
// On a dark ground the first eight have a contrast of 4.5 or more; the tints would be too much alike.
const ON_DARK = [
  "#2b8ae0", "#e69f00", "#009e73", "#cc79a7", "#6cc5f5", "#e0691a", "#b8a800", "#a47ee0",
].map(fromHex);
// The colours of classes on each ground.
const palettes = { light: [...CLASSES], dark: ON_DARK };

/**
 * @param {number} place
 * @param {Theme} theme
 */
export function classColor(place, theme = "light") {
  const palette = palettes[theme];
  if (place >= palette.length) {
    palette.push(...furtherColors(palette, MOST_CLASSES - palette.length, LIGHTNESS[theme]));
  }
  return palette[place];
}

/**
 * Colours that are as far from the given ones and from each other as can be, one after the other.
 * @param {Color[]} given
 * @param {number} count
 * @param {[number, number]} lightness the least and the most
 */
function furtherColors(given, count, [darkest, lightest]) {
  const candidates = [];
  for (let code = 0; code < 4096; code++) {
    const color = [code >> 8, (code >> 4) & 15, code & 15].map((level) => 17 * level);
    const [light, a, b] = perceived(color);
    // Neither fading into the ground, nor as grey as what is missing, nor glaring.
    if (light > darkest && light < lightest && Math.hypot(a, b) > 0.06 && Math.hypot(a, b) < 0.22) {
      candidates.push({ color, at: [light, a, b], gap: Infinity });
    }
  }
  /** @type {(one: number[], other: number[]) => number} */
  const gap = (one, other) => Math.hypot(...one.map((value, i) => value - other[i]));
  /** @type {Color[]} */
  const chosen = [];
  let fresh = given.map(perceived);
  while (chosen.length < count) {
    let best = candidates[0];
    for (const one of candidates) {
      for (const at of fresh) one.gap = Math.min(one.gap, gap(one.at, at));
      if (one.gap > best.gap) best = one;
    }
    chosen.push(best.color);
    fresh = [best.at];
  }
  return chosen;
}

/**
 * A colour in OKLab (Ottosson 2020), where distances are those that are seen.
 * @param {Color} color
 */
export function perceived(color) {
  const [r, g, b] = color.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}
/** @param {Theme} theme */
export const greyColor = (theme) => GREY[theme];
/** @type {Colors} */
export const edgeColor = (share, theme) => between(EDGE_COLORS[theme], share);
/**
 * What is not to be trusted has the colours of a short circuit.
 * @type {Colors}
 */
export const trustColor = (share, theme) => edgeColor(1 - share, theme);
/** @param {Color} color */
export const css = (color) => `rgb(${color.map(Math.round).join(" ")})`;

/**
 * @param {number} share
 * @param {Theme} theme
 */
export function scaleColor(share, theme) {
  const [low, high] = RANGE[theme];
  return between(VIRIDIS, low + (high - low) * share);
}

/**
 * A ramp of 256 colours, for lookups point by point and as a texture.
 * @param {Colors} color
 * @param {Theme} theme
 */
export function ramp(color, theme) {
  const colors = new Uint8Array(256 * 4);
  for (let i = 0; i < 256; i++) colors.set([...color(i / 255, theme), 255], 4 * i);
  return colors;
}

/**
 * A colour bar as a CSS background.
 * @param {Colors} color
 * @param {Theme} theme
 */
export function gradient(color, theme) {
  const stops = Array.from({ length: 11 }, (_, i) => css(color(i / 10, theme)));
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}

/**
 * What makes the value of an edge a share of the colours, from 0 to 1: linear for most, logarithmic
 * for the largest, so that a few huge values do not make all others look alike.
 * @param {Float32Array} falling all values, the largest first
 * @returns {{ low: number, high: number, share: (value: number) => number }}
 */
export function edgeScale(falling) {
  const at = (/** @type {number} */ share) => falling[Math.floor(share * (falling.length - 1))] ?? 0;
  const low = at(0.95);
  const unit = Math.max(at(0.05), (falling[0] ?? 0) / 1e6) || 1;
  const high = falling[0] ?? 0;
  const bottom = Math.asinh(low / unit);
  const span = Math.asinh(high / unit) - bottom;
  const share = (/** @type {number} */ value) => (span > 1e-6 ? (Math.asinh(value / unit) - bottom) / span : 0);
  return { low, high, share: (value) => Math.min(Math.max(share(value), 0), 1) };
}
