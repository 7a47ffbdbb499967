// What tells clusters from each other: words of their texts, categories, or features.

import { classNumbers } from "./coloring.js";
import { named } from "./words.js";

const MOST_ROWS = 20_000; // that are read
const MOST_WORDS = 60; // of one text
const MOST_CATEGORIES = 200;
const WORD = /\p{L}[\p{L}\p{N}'-]{2,}/gu;
const CLEAR = 0.5; // standard deviations that a mean is away
const COMMON = 0.5; // share of a cluster that a category has

/**
 * @typedef {import("./data.js").Column} Column
 * @typedef {{ labels: Int32Array, count: number }} Clusters
 */

/**
 * A name for every cluster, "" where nothing tells it from the others.
 * @param {Clusters} clusters
 * @param {Column[]} columns
 * @param {Column | null} text
 * @returns {string[]}
 */
export function namesOf(clusters, columns, text) {
  const rows = some(clusters.labels);
  const sources = [
    ...(text ? [words(clusters, rows, text)] : []),
    categories(clusters, rows, columns.filter((column) => column !== text)),
    features(clusters, rows, columns),
  ];
  return Array.from({ length: clusters.count }, (_, cluster) => {
    for (const names of sources) if (names[cluster]) return names[cluster];
    return "";
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
 * Three words each: frequent in the cluster, and more so than elsewhere.
 * @param {Clusters} clusters
 * @param {number[]} rows
 * @param {Column} text
 */
function words({ labels, count }, rows, text) {
  /** @type {Map<string, number>} */
  const everywhere = new Map();
  /** @type {Map<string, number>[]} */
  const within = Array.from({ length: count }, () => new Map());
  const sizes = new Float64Array(count);
  for (const row of rows) {
    const found = new Set((text.text(row).toLowerCase().match(WORD) ?? []).slice(0, MOST_WORDS));
    const cluster = labels[row];
    if (cluster >= 0) sizes[cluster]++;
    for (const word of found) {
      everywhere.set(word, (everywhere.get(word) ?? 0) + 1);
      if (cluster >= 0) within[cluster].set(word, (within[cluster].get(word) ?? 0) + 1);
    }
  }
  return within.map((counts, cluster) => {
    const scored = [...counts].map(([word, times]) => {
      const [here, all] = [times / sizes[cluster], (everywhere.get(word) ?? times) / rows.length];
      return { word, score: times > 1 ? here * Math.log(here / all) : 0 };
    });
    const best = scored.filter(({ score }) => score > 0.05).sort((a, b) => b.score - a.score);
    return best.slice(0, 3).map(({ word }) => word).join(", ");
  });
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
    return few ? { names: texts, code: (row) => column.values[row] } : null;
  }
  const numbers = classNumbers(column);
  if (!numbers || numbers.length < 2) return null;
  const codes = new Map(numbers.map((value, code) => [value, code]));
  const names = numbers.map((value) => `${named(column.name, 24)} ${value}`);
  return { names, code: (row) => codes.get(column.values[row]) ?? -1 };
}

/**
 * The category that most of a cluster and few of the others have.
 * @param {Clusters} clusters
 * @param {number[]} rows
 * @param {Column[]} columns
 */
function categories({ labels, count }, rows, columns) {
  const best = Array.from({ length: count }, () => ({ name: "", score: 0.1 }));
  for (const column of columns) {
    const found = kindsOf(column);
    if (!found) continue;
    const kinds = found.names.length;
    const all = new Float64Array(kinds);
    const within = new Float64Array(kinds * count);
    const sizes = new Float64Array(count);
    for (const row of rows) {
      if (column.missing(row)) continue;
      all[found.code(row)]++;
      if (labels[row] < 0) continue;
      within[labels[row] * kinds + found.code(row)]++;
      sizes[labels[row]]++;
    }
    const total = all.reduce((sum, value) => sum + value, 0);
    for (let cluster = 0; cluster < count; cluster++) {
      for (let kind = 0; kind < kinds; kind++) {
        const here = within[cluster * kinds + kind] / sizes[cluster];
        const score = here > COMMON ? here * Math.log((here * total) / all[kind]) : 0;
        if (score > best[cluster].score) best[cluster] = { name: found.names[kind], score };
      }
    }
  }
  return best.map(({ name }) => name);
}

/**
 * The two features whose means are farthest from those of all points.
 * @param {Clusters} clusters
 * @param {number[]} rows
 * @param {Column[]} columns
 */
function features({ labels, count }, rows, columns) {
  /** @type {{ name: string, away: number }[][]} */
  const found = Array.from({ length: count }, () => []);
  for (const column of columns.filter((one) => one.numeric && !kindsOf(one))) {
    const values = rows.map((row) => column.values[row]);
    const known = values.filter(Number.isFinite);
    const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
    const spread = Math.sqrt(known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / known.length);
    if (!(spread > 0)) continue;
    const [sums, sizes] = [new Float64Array(count), new Float64Array(count)];
    rows.forEach((row, i) => {
      if (labels[row] < 0 || !Number.isFinite(values[i])) return;
      sums[labels[row]] += values[i];
      sizes[labels[row]]++;
    });
    for (let cluster = 0; cluster < count; cluster++) {
      const away = (sums[cluster] / sizes[cluster] - mean) / spread;
      if (Math.abs(away) > CLEAR) found[cluster].push({ name: column.name, away });
    }
  }
  return found.map((list) => {
    const best = list.sort((a, b) => Math.abs(b.away) - Math.abs(a.away)).slice(0, 2);
    return best.map(({ name, away }) => `${away > 0 ? "high" : "low"} ${named(name, 24)}`).join(", ");
  });
}
