// Words and numbers as the page says them.

const METHODS = new Map([
  ["isomap", "Isomap"],
  ["lle", "LLE"],
  ["eigenmaps", "Eigenmaps"],
  ["tsne", "t-SNE"],
]);

/** @typedef {import("./types.js").View} View */

/**
 * An element that page.html has, of a kind.
 * @template {HTMLElement} [Kind=HTMLElement]
 * @param {string} id
 * @param {{ new (): Kind }} [kind]
 * @returns {Kind}
 */
export function byId(id, kind) {
  return ofKind(document.getElementById(id), id, kind);
}

/**
 * An element that is known to be there.
 * @template {HTMLElement} [Kind=HTMLElement]
 * @param {Element | null} element
 * @param {string} name
 * @param {{ new (): Kind }} [kind]
 * @returns {Kind}
 */
export function ofKind(element, name, kind) {
  if (element instanceof (kind ?? HTMLElement)) return /** @type {Kind} */ (element);
  throw new Error(`page.html has no ${kind?.name ?? "element"} ${name}`);
}

/**
 * Words in an element of their own.
 * @param {string} text
 */
export function spanOf(text) {
  const element = document.createElement("span");
  element.textContent = text;
  return element;
}

/**
 * What draws on a canvas.
 * @param {HTMLCanvasElement} canvas
 */
export function penOf(canvas) {
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("no canvas to draw on");
  return pen;
}

/**
 * The beginning of a text that may be very long.
 * @param {string} text
 */
export function clipped(text, most = 160) {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/**
 * A name or a category, of which something must be seen.
 * @param {string} text
 */
export function named(text, most = 160) {
  return text.trim() ? clipped(text, most) : "(empty)";
}

/**
 * A number for reading: four digits.
 * @param {number} value
 */
export function rounded(value) {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  return String(Number(value.toPrecision(4)));
}

/**
 * A count for reading, in groups of three digits.
 * @param {number} value
 */
export function counted(value) {
  return value.toLocaleString("en").replaceAll(",", "\u202f");
}

/**
 * A size of so many bytes.
 * @param {number} bytes
 */
export function sized(bytes) {
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(1)} MB`;
  return `${Math.max(1, Math.round(bytes / 1e3))} kB`;
}

/** @param {string} name */
export const methodName = (name) => METHODS.get(name) ?? named(name, 60);

/** @param {string} name */
export function divergenceName(name) {
  if (name === "euclidean") return "Euclidean, classical";
  return `Patches, ${name === "kl" ? "KL" : name}`;
}

/** @param {string} name */
export const measureName = (name) => (name === "kl" ? "KL divergence" : named(name, 30));

/**
 * What a view is called in a file.
 * @param {View} view
 */
export function viewKey({ method, divergence, k }) {
  const parts = [method];
  if (divergence !== null) parts.push(divergence);
  if (k !== null) parts.push(`k=${k}`);
  return parts.join(" ");
}

/** @param {View} view */
export function viewName({ method, divergence, k }) {
  const parts = [methodName(method)];
  if (divergence !== null) parts.push(divergenceName(divergence));
  if (k !== null) parts.push(`k = ${k}`);
  return parts.join(", ");
}
