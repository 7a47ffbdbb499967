// Words and numbers as the page says them.

const METHODS = new Map([
  ["isomap", "Isomap"],
  ["lle", "LLE"],
  ["eigenmaps", "Eigenmaps"],
  ["tsne", "t-SNE"],
]);

/**
 * An element that page.html has, whatever its kind.
 * @returns {any}
 */
export const byId = (id) => document.getElementById(id);

/** The beginning of a text that may be very long. */
export function clipped(text, most = 160) {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** A name or a category, of which something must be seen. */
export function named(text, most = 160) {
  return text.trim() ? clipped(text, most) : "(empty)";
}

/** A number for reading: four digits. */
export function rounded(value) {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  return String(Number(value.toPrecision(4)));
}

/** A count for reading, in groups of three digits. */
export function counted(value) {
  return value.toLocaleString("en").replaceAll(",", "\u202f");
}

/** A size of so many bytes. */
export function sized(bytes) {
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(1)} MB`;
  return `${Math.max(1, Math.round(bytes / 1e3))} kB`;
}

export const methodName = (name) => METHODS.get(name) ?? named(name, 60);

export function divergenceName(name) {
  if (name === "euclidean") return "Euclidean, classical";
  return `Patches, ${name === "kl" ? "KL" : name}`;
}

export const measureName = (name) => (name === "kl" ? "KL divergence" : named(name, 30));

/** What a view is called in a file. */
export function viewKey({ method, divergence, k }) {
  const parts = [method];
  if (divergence !== null) parts.push(divergence);
  if (k !== null) parts.push(`k=${k}`);
  return parts.join(" ");
}

export function viewName({ method, divergence, k }) {
  const parts = [methodName(method)];
  if (divergence !== null) parts.push(divergenceName(divergence));
  if (k !== null) parts.push(`k = ${k}`);
  return parts.join(", ");
}
