// The legend: says what the colours mean, and hides what is not to be seen.

import { Classes, Scale } from "./coloring.js";
import { css, gradient } from "./colors.js";
import { Histogram } from "./histogram.js";
import { counted, named } from "./words.js";

/**
 * @typedef {import("./types.js").Coloring} Coloring
 * @typedef {import("./types.js").Entry} Entry
 * @typedef {import("./types.js").Theme} Theme
 * @typedef {{ entry: Entry, button: HTMLButtonElement, item: HTMLLIElement }} Shown
 */

/**
 * Show the legend of a coloring.
 * @param {HTMLElement} place
 * @param {Coloring} coloring
 * @param {Theme} theme
 * @param {() => void} changed called when something is hidden or shown
 */
export function showLegend(place, coloring, theme, changed) {
  place.replaceChildren();
  if (coloring instanceof Classes) showClasses(place, coloring, theme, changed);
  if (coloring instanceof Scale) showScale(place, coloring, theme, changed);
}

const SEARCHED = 16; // categories, from which on they can be searched
const SIGN = /[./:|_]|\s[-\u2013]\s/; // ends the name of a group

/**
 * The entries of a legend in groups by the beginnings of their labels, or in one without a name.
 * @template {{ label: string }} Labelled
 * @param {Labelled[]} entries
 * @returns {{ name: string, entries: Labelled[] }[]}
 */
export function groupsOf(entries) {
  /** @type {Map<string, Labelled[]>} */
  const groups = new Map();
  for (const entry of entries) {
    const parts = entry.label.split(SIGN);
    const name = parts.length > 1 ? parts[0].trim() : "";
    groups.set(name, [...(groups.get(name) ?? []), entry]);
  }
  const alone = [...groups].filter(([name, some]) => name && some.length < 2).length;
  const useful = entries.length > SEARCHED && groups.size > 1 && alone < groups.size / 2;
  if (!useful) return [{ name: "", entries }];
  return [...groups].map(([name, some]) => ({ name, entries: some }));
}

/**
 * @param {HTMLElement} place
 * @param {Classes} coloring
 * @param {Theme} theme
 * @param {() => void} changed
 */
export function showClasses(place, coloring, theme, changed) {
  /** @type {Shown[]} */
  const shown = [];
  const refresh = () => {
    for (const { entry, button } of shown) button.setAttribute("aria-pressed", String(entry.shown));
    changed();
  };
  const parts = groupsOf(coloring.entries).map(({ name, entries }) => {
    const list = document.createElement("ul");
    list.className = "classes";
    for (const entry of entries) {
      const button = classButton(entry, theme, coloring, refresh);
      const item = document.createElement("li");
      item.append(button);
      list.append(item);
      shown.push({ entry, button, item });
    }
    return name ? groupOf(name, entries, list, refresh) : list;
  });
  if (coloring.entries.length > SEARCHED) place.append(searchOf(shown, parts));
  place.append(...parts);
}

/**
 * @param {Entry} entry
 * @param {Theme} theme
 * @param {Classes} coloring
 * @param {() => void} refresh
 */
function classButton(entry, theme, coloring, refresh) {
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-pressed", String(entry.shown));
  button.title = named(entry.label, 500);
  const swatch = document.createElement("i");
  swatch.style.background = css(entry.color(theme));
  const label = document.createElement("bdi");
  label.textContent = named(entry.label, 60);
  const count = document.createElement("span");
  count.textContent = counted(entry.count);
  button.append(swatch, label, count);
  button.addEventListener("click", () => {
    entry.shown = !entry.shown;
    refresh();
  });
  button.addEventListener("dblclick", () => {
    const alone = coloring.entries.every((other) => other.shown === (other === entry));
    for (const other of coloring.entries) other.shown = alone || other === entry;
    refresh();
  });
  return button;
}

/**
 * A group of categories, which can be folded, hidden and shown.
 * @param {string} name
 * @param {Entry[]} entries
 * @param {HTMLElement} list
 * @param {() => void} refresh
 */
function groupOf(name, entries, list, refresh) {
  const group = document.createElement("details");
  group.open = true;
  const summary = document.createElement("summary");
  const toggle = document.createElement("button");
  toggle.type = "button";
  toggle.className = "small";
  toggle.textContent = "Hide";
  toggle.setAttribute("aria-label", `Hide or show ${named(name, 60)}`);
  toggle.addEventListener("click", (event) => {
    event.preventDefault();
    const on = entries.every((entry) => !entry.shown);
    for (const entry of entries) entry.shown = on;
    toggle.textContent = on ? "Hide" : "Show";
    refresh();
  });
  const label = document.createElement("bdi");
  label.textContent = named(name, 40);
  summary.append(label, toggle);
  group.append(summary, list);
  return group;
}

/**
 * A field that leaves in the legend what contains some letters.
 * @param {Shown[]} shown
 * @param {HTMLElement[]} parts
 */
function searchOf(shown, parts) {
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = `Find one of ${counted(shown.length)}`;
  field.setAttribute("aria-label", "Find a category");
  field.addEventListener("input", () => {
    const words = field.value.trim().toLowerCase();
    for (const { entry, item } of shown) {
      item.hidden = !entry.label.toLowerCase().includes(words);
    }
    for (const part of parts) part.hidden = !part.querySelector("li:not([hidden])");
  });
  return field;
}

/**
 * @param {HTMLElement} place
 * @param {Scale} coloring
 * @param {Theme} theme
 * @param {() => void} changed
 */
function showScale(place, coloring, theme, changed) {
  const bar = document.createElement("div");
  bar.className = "gradient";
  bar.style.background = gradient(coloring.color, theme);
  const known = coloring.values.length > 0;
  showRange(place, coloring, known ? [new Histogram(coloring).element, bar] : [bar], changed);
}

/**
 * Two handles over what shows the values of a scale, and what they stand for.
 * @param {HTMLElement} place
 * @param {Scale} coloring
 * @param {Element[]} bars
 * @param {() => void} changed
 */
export function showRange(place, coloring, bars, changed) {
  const box = document.createElement("div");
  box.className = "scale";
  const track = document.createElement("div");
  track.className = "track";
  const ends = document.createElement("p");
  ends.className = "ends";
  const [low, high] = [document.createElement("span"), document.createElement("span")];
  ends.append(low, high);
  const handles = /** @type {const} */ ([
    ["from", "Lowest value shown"],
    ["to", "Highest value shown"],
  ]).map(([end, name]) => {
    const handle = document.createElement("input");
    Object.assign(handle, { type: "range", min: "0", max: "1", step: "0.005", className: end });
    handle.value = String(coloring[end]);
    handle.setAttribute("aria-label", name);
    handle.addEventListener("input", () => {
      coloring[end] = Number(handle.value);
      if (coloring.from > coloring.to) {
        coloring[end] = end === "from" ? coloring.to : coloring.from;
        handle.value = String(coloring[end]);
      }
      refresh();
      changed();
    });
    return handle;
  });
  const refresh = () => {
    const [least, largest] = [coloring.at(coloring.from), coloring.at(coloring.to)].map(coloring.words);
    low.textContent = coloring.below && coloring.from === 0 ? `\u2264 ${least}` : least;
    high.textContent = coloring.above && coloring.to === 1 ? `\u2265 ${largest}` : largest;
  };
  refresh();
  track.append(...handles);
  box.append(...bars, track, ends);
  place.append(box);
}
