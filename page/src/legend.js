// The legend: says what the colours mean, and hides what is not to be seen.

import { Classes, Scale } from "./coloring.js";
import { css, gradient } from "./colors.js";
import { counted, named, rounded } from "./words.js";

/**
 * Show the legend of a coloring.
 * @param {HTMLElement} place
 * @param {() => void} changed called when something is hidden or shown
 */
export function showLegend(place, coloring, theme, changed) {
  place.replaceChildren();
  if (coloring instanceof Classes) showClasses(place, coloring, theme, changed);
  if (coloring instanceof Scale) showScale(place, coloring, theme, changed);
}

function showClasses(place, coloring, theme, changed) {
  const list = document.createElement("ul");
  list.className = "classes";
  const refresh = () => {
    [...list.children].forEach((item, i) => {
      item.firstElementChild.setAttribute("aria-pressed", String(coloring.entries[i].shown));
    });
    changed();
  };
  for (const entry of coloring.entries) {
    const item = document.createElement("li");
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
    item.append(button);
    list.append(item);
  }
  place.append(list);
}

function showScale(place, coloring, theme, changed) {
  const box = document.createElement("div");
  box.className = "scale";
  const bar = document.createElement("div");
  bar.className = "gradient";
  bar.style.background = gradient(coloring.color, theme);
  const ends = document.createElement("p");
  ends.className = "ends";
  const [low, high] = [document.createElement("span"), document.createElement("span")];
  ends.append(low, high);
  const handles = [
    ["from", "Lowest value shown"],
    ["to", "Highest value shown"],
  ].map(([end, name]) => {
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
    const [least, largest] = [coloring.at(coloring.from), coloring.at(coloring.to)].map(rounded);
    low.textContent = coloring.below && coloring.from === 0 ? `\u2264 ${least}` : least;
    high.textContent = coloring.above && coloring.to === 1 ? `\u2265 ${largest}` : largest;
  };
  refresh();
  box.append(bar, ...handles, ends);
  place.append(box);
}
