// The notebook around the page: it is told the selected rows once it has asked for them, and may
// select some itself.

/** @typedef {import("./app.js").App} App */

let asked = false;

/** @param {App} app */
export function listenToParent(app) {
  addEventListener("message", (event) => {
    const words = event.data?.patchfold;
    if (event.source !== parent || parent === window || !words) return;
    asked = true;
    if (!Array.isArray(words.rows)) return;
    const rows = words.rows.filter((/** @type {unknown} */ row) => isRow(row, app.n));
    if (rows.join() !== app.rows.join()) app.select(rows);
  });
  if (parent !== window) parent.postMessage({ patchfold: { ready: true } }, "*");
}

/**
 * @param {unknown} row
 * @param {number} n
 */
function isRow(row, n) {
  return typeof row === "number" && Number.isInteger(row) && row >= 0 && row < n;
}

/** @param {number[]} rows */
export function tellParent(rows) {
  if (asked) parent.postMessage({ patchfold: { rows } }, "*");
}
