// The search: rows that some words are in, or that meet conditions on columns.

import { conditionsOf, narrow, unknownIn } from "./query.js";
import { byId, clipped, counted, rounded } from "./words.js";

/** @typedef {import("./app.js").App} App */

/**
 * Find the rows that some words are in, or that meet conditions such as weight > 13.
 * @param {App} app
 * @param {string} text
 */
export async function find(app, text) {
  app.asked = text;
  const words = text.trim().toLowerCase();
  const nameOf = (/** @type {string} */ name) => nameOfColumn(app, name);
  const conditions = words ? conditionsOf(text, nameOf) : null;
  const matches = conditions ? await meeting(app, conditions) : null;
  if (app.asked !== text) return; // something else was typed meanwhile
  app.matches = matches ?? (words ? containing(app, words) : null);
  app.unknown = app.matches?.includes(1) ? "" : unknownIn(text, nameOf);
  app.restyle();
}

/**
 * The column that some words name, in whatever letters; null where none has this name.
 * @param {App} app
 * @param {string} words
 */
function nameOfColumn({ columns, ids, further }, words) {
  const lower = words.trim().replace(/^(["'])(.*)\1$/, "$2").toLowerCase();
  const names = [...columns.map(({ name }) => name), ids.name, ...further.keys()];
  return names.find((name) => name.toLowerCase() === lower) ?? null;
}

/**
 * The rows that meet all conditions; null where one of them asks for no value of its column.
 * @param {App} app
 * @param {import("./query.js").Condition[]} conditions
 */
async function meeting(app, conditions) {
  const matches = new Uint8Array(app.n).fill(1);
  for (const condition of conditions) {
    const column = condition.name === app.ids.name ? app.ids : await app.column(condition.name);
    if (!column || !narrow(condition, column, matches)) return null;
  }
  return matches;
}

/**
 * @param {App} app
 * @param {string} words
 */
function containing({ n, columns, ids }, words) {
  const matches = new Uint8Array(n);
  const texts = columns.filter((column) => !column.numeric || column.time);
  for (const column of [...texts, ids]) column.search(words, matches);
  return matches;
}

/**
 * The rows that the search has found and the legend and the filters leave.
 * @param {App} app
 */
function matching({ matches, visible }) {
  /** @type {number[]} */
  const rows = [];
  matches?.forEach((hit, row) => hit && visible[row] && rows.push(row));
  return rows;
}

/**
 * Say how many rows the search has found, or which column there is not.
 * @param {App} app
 */
export function tellFound(app) {
  const output = byId("found");
  const unknown = app.matches !== null && app.unknown !== "";
  output.classList.toggle("note", unknown);
  const count = app.matches ? counted(matching(app).length) : "";
  output.textContent = unknown ? `No column is called \u201c${clipped(app.unknown, MOST_NAMED)}\u201d` : count;
}

/**
 * Select what the search finds, and end it.
 * @param {App} app
 */
export async function selectMatches(app) {
  const field = byId("search", HTMLInputElement);
  await find(app, field.value);
  if (!app.matches) return;
  const rows = matching(app);
  field.value = "";
  await find(app, "");
  app.select(rows);
}

const MOST_LETTERS = 18; // of a column in the hint
const MOST_NAMED = 40; // letters of a column that there is not

/**
 * What can be typed: words, or a condition on a column of numbers.
 * @param {import("./data.js").Column[]} columns
 */
export function hint(columns) {
  const column = columns.find(({ name, numeric, whole, time }) => numeric && !whole && !time && name.length <= MOST_LETTERS);
  if (!column) return "Search  /";
  const known = Float64Array.from(column.values).filter(Number.isFinite).sort();
  return known.length ? `Search, or ${column.name} > ${rounded(known[known.length >> 1])}` : "Search  /";
}
