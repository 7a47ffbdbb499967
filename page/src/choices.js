// What the lists above the panes offer, and which of it is shown at first.

/** @typedef {import("./types.js").Choice} Choice */

/**
 * What the two panes show at first: the map of patches, and beside it that of the classical method.
 * @param {string[]} methods
 * @param {(string | null)[]} divergences
 * @returns {Choice[]}
 */
export function firstChoices(methods, divergences) {
  if (divergences.length < 2) {
    return methods.slice(0, 2).map((method) => ({ method, divergence: divergences[0] }));
  }
  const last = (/** @type {string | null} */ name) => Number(name === "euclidean");
  const order = [...divergences].sort((a, b) => last(a) - last(b));
  return order.slice(0, 2).map((divergence) => ({ method: methods[0], divergence }));
}

/**
 * @param {HTMLSelectElement} select
 * @param {string[]} values
 * @param {(value: string) => string} nameOf
 * @param {string} chosen
 */
export function fillSelect(select, values, nameOf, chosen) {
  for (const value of values) select.append(new Option(nameOf(value), value));
  select.value = chosen;
  select.disabled = values.length < 2;
}
