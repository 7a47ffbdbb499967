// What tells clusters from each other: numbers, categories, or words of their texts. Each candidate is
// judged by how well it alone picks a cluster out, and counts where chance does not explain that.

import { classNumbers } from "./coloring.js";
import { named } from "./words.js";

export const MOST_LETTERS = 28; // of a name on the map
const MOST_ROWS = 20_000; // that are read
const MOST_WORDS = 60; // of one text
const MOST_CATEGORIES = 200;
const WORD = /\p{L}[\p{L}\p{N}'-]{2,}/gu;
const DIGITS = /^[\d\s.,-]*$/; // a category that says nothing without the name of its column
const CHANCE = 0.05; // probability that chance alone gives any name on the map
const LEAST = 0.3; // how well a candidate must pick its cluster out, from 0 to 1
// Numbers come first where they tell as much, then words of the text that the page was given.
const BONUS = { number: 0.1, category: 0, word: 0.05 };
const MOST_NAMED = { number: 2, category: 1, word: 3 };

/**
 * @typedef {import("./data.js").Column} Column
 * @typedef {{ labels: Int32Array, count: number }} Clusters
 * @typedef {"number" | "category" | "word"} Kind
 * @typedef {object} Candidate
 * @property {Kind} kind
 * @property {string} name
 * @property {number} cluster
 * @property {number} gap the largest difference of shares, in the cluster and elsewhere
 * @property {number} weight n m / (n + m) of the rows in the cluster and elsewhere
 */

/**
 * A name for every cluster, "" where nothing but chance tells it from the others.
 *
 * The share of a cluster's rows that have a word, a category or a value beyond a threshold is compared
 * with that of the other rows. If a cluster were drawn at random, a difference of `gap` or more for any
 * threshold would have at most the probability 2 exp(-2 gap^2 weight) (Kolmogorov and Smirnov); it is
 * multiplied by the number of candidates (Bonferroni).
 * @param {Clusters} clusters
 * @param {Column[]} columns
 * @param {Column | null} text
 * @returns {string[]}
 */
export function namesOf(clusters, columns, text) {
  const rows = some(clusters.labels);
  const others = columns.filter((column) => column !== text);
  const found = [
    ...others.flatMap((column) => (kindsOf(column) ? categories(clusters, rows, column) : numbers(clusters, rows, column))),
    ...(text ? words(clusters, rows, text) : []),
  ];
  const limit = Math.log((2 * found.length) / CHANCE) / 2;
  const clear = found.filter(({ gap, weight }) => gap >= LEAST && gap ** 2 * weight > limit);
  return Array.from({ length: clusters.count }, (_, cluster) => {
    const own = clear.filter((one) => one.cluster === cluster);
    own.sort((a, b) => b.gap + BONUS[b.kind] - a.gap - BONUS[a.kind]);
    const best = own.filter(({ kind }) => kind === own[0].kind).slice(0, own.length && MOST_NAMED[own[0].kind]);
    const names = best.map(({ name }) => name);
    while (names.length > 1 && names.join(", ").length > MOST_LETTERS) names.pop(); // no half names
    return names.join(", ");
  });
}

/** @param {Int32Array} labels */
function some(labels) {
  const every = Math.max(1, Math.ceil(labels.length / MOST_ROWS));
  const rows = [];
  for (let row = 0; row < labels.length; row += every) rows.push(row);
  return rows;
}

/**
 * Candidates of things that a row has or has not: how many rows of each cluster have each.
 * @param {Kind} kind
 * @param {{ name: string, within: ArrayLike<number> }[]} things
 * @param {ArrayLike<number>} sizes of the clusters
 * @param {number} total of all rows, those in no cluster, too
 * @param {(name: number) => number} everywhere how many rows have it
 * @returns {Candidate[]}
 */
function candidates(kind, things, sizes, total, everywhere) {
  return things.flatMap(({ name, within }, thing) =>
    Array.from(sizes, (size, cluster) => {
      const rest = total - size;
      const gap = size && rest ? within[cluster] / size - (everywhere(thing) - within[cluster]) / rest : 0;
      return { kind, name, cluster, gap, weight: (size * rest) / total };
    }),
  );
}

/**
 * Words that rows of a cluster have more often than others.
 * @param {Clusters} clusters
 * @param {number[]} rows
 * @param {Column} text
 */
function words({ labels, count }, rows, text) {
  /** @type {Map<string, { name: string, within: Float64Array, all: number }>} */
  const known = new Map();
  const sizes = new Float64Array(count);
  for (const row of rows) {
    const cluster = labels[row];
    if (cluster >= 0) sizes[cluster]++;
    const found = new Set((text.text(row).toLowerCase().match(WORD) ?? []).slice(0, MOST_WORDS));
    for (const name of found) {
      const word = known.get(name) ?? { name, within: new Float64Array(count), all: 0 };
      known.set(name, word);
      word.all++;
      if (cluster >= 0) word.within[cluster]++;
    }
  }
  const repeated = [...known.values()].filter(({ all }) => all > 1);
  return candidates("word", repeated, sizes, rows.length, (place) => repeated[place].all);
}

/**
 * A column as categories: texts that are not too many, or whole numbers of few values.
 * @param {Column} column
 * @returns {{ names: string[], code: (row: number) => number } | null}
 */
function kindsOf(column) {
  if (!column.numeric) {
    const { texts } = column;
    const few = texts.length > 1 && texts.length <= MOST_CATEGORIES;
    const names = few ? texts.map((one) => (DIGITS.test(one) ? `${named(column.name, 24)} ${one}` : one)) : [];
    return { names, code: (row) => column.values[row] };
  }
  const found = classNumbers(column);
  if (!found || found.length < 2) return null;
  const codes = new Map(found.map((value, code) => [value, code]));
  const names = found.map((value) => `${named(column.name, 24)} ${value}`);
  return { names, code: (row) => codes.get(column.values[row]) ?? -1 };
}

/**
 * Categories that rows of a cluster have more often than others.
 * @param {Clusters} clusters
 * @param {number[]} rows
 * @param {Column} column
 */
function categories({ labels, count }, rows, column) {
  const found = kindsOf(column);
  if (!found?.names.length) return [];
  const things = found.names.map((name) => ({ name, within: new Float64Array(count), all: 0 }));
  const sizes = new Float64Array(count);
  let total = 0;
  for (const row of rows) {
    if (column.missing(row)) continue;
    const thing = things[found.code(row)];
    total++;
    thing.all++;
    if (labels[row] < 0) continue;
    sizes[labels[row]]++;
    thing.within[labels[row]]++;
  }
  return candidates("category", things, sizes, total, (place) => things[place].all);
}

/**
 * Whether a number is high or low in a cluster, at the threshold that tells most.
 * @param {Clusters} clusters
 * @param {number[]} rows
 * @param {Column} column
 * @returns {Candidate[]}
 */
function numbers({ labels, count }, rows, column) {
  const known = rows.filter((row) => !column.missing(row));
  known.sort((a, b) => column.values[a] - column.values[b]);
  const sizes = new Float64Array(count);
  for (const row of known) if (labels[row] >= 0) sizes[labels[row]]++;
  const below = new Float64Array(count);
  const gaps = new Float64Array(count); // with the sign: positive where the cluster is low
  known.forEach((row, i) => {
    if (labels[row] >= 0) below[labels[row]]++;
    if (i + 1 < known.length && column.values[known[i + 1]] === column.values[row]) return;
    for (let cluster = 0; cluster < count; cluster++) {
      const rest = known.length - sizes[cluster];
      if (!sizes[cluster] || !rest) continue;
      const gap = below[cluster] / sizes[cluster] - (i + 1 - below[cluster]) / rest;
      if (Math.abs(gap) > Math.abs(gaps[cluster])) gaps[cluster] = gap;
    }
  });
  return Array.from(gaps, (gap, cluster) => ({
    kind: /** @type {Kind} */ ("number"),
    name: `${(column.time ? ["late", "early"] : ["high", "low"])[Number(gap > 0)]} ${named(column.name, 24)}`,
    cluster,
    gap: Math.abs(gap),
    weight: (sizes[cluster] * (known.length - sizes[cluster])) / (known.length || 1),
  }));
}
