// The field that finds a column by its name: one of those that are there, or one to be unpacked.

import { byId, counted, named } from "./words.js";

const SEARCHED = 16; // columns, from which on they can be found by typing
const MOST_LISTED = 12;

/** @typedef {import("./app.js").App} App */

/**
 * The names that contain some letters: first those that begin with them, else in their order.
 * @param {string[]} names
 * @param {string} text
 */
export function foundAmong(names, text) {
  const words = text.trim().toLowerCase();
  const first = [];
  const second = [];
  for (const name of names) {
    const at = name.toLowerCase().indexOf(words);
    if (at === 0) first.push(name);
    else if (at > 0 && second.length < MOST_LISTED) second.push(name);
    if (first.length === MOST_LISTED) break;
  }
  return [...first, ...second].slice(0, MOST_LISTED);
}

/**
 * Let the field find columns to colour by.
 * @param {App} app
 */
export function bindFinder(app) {
  const names = [...app.further.keys(), ...app.columns.map(({ name }) => name)];
  const field = byId("find-column", HTMLInputElement);
  const list = byId("found-columns");
  byId("finder").hidden = names.length <= SEARCHED;
  field.placeholder = `Find one of ${counted(names.length)} columns`;
  let active = 0;
  const close = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const mark = () => {
    [...list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === active)));
    const item = list.children[active];
    item?.scrollIntoView({ block: "nearest" });
    if (item) field.setAttribute("aria-activedescendant", item.id);
  };
  const choose = async (/** @type {string} */ name) => {
    field.value = "";
    close();
    await app.colourBy(name);
  };
  const show = () => {
    const found = foundAmong(names, field.value);
    list.replaceChildren(...found.map((name, place) => itemOf(name, place, () => choose(name))));
    if (!found.length) list.append(itemOf("no column has these letters", 0, close));
    list.classList.toggle("none", !found.length);
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
    active = 0;
    mark();
    list.scrollIntoView({ block: "nearest" });
  };
  field.addEventListener("input", show);
  field.addEventListener("focus", show);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      field.value = "";
      close();
    } else if (event.key === "Enter") {
      const [name] = foundAmong(names, field.value).slice(active);
      if (name !== undefined && !list.hidden) choose(name);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) return show();
      active = Math.min(Math.max(active + (event.key === "ArrowDown" ? 1 : -1), 0), list.children.length - 1);
      mark();
    }
  });
}

/**
 * @param {string} name
 * @param {number} place
 * @param {() => void} choose
 */
function itemOf(name, place, choose) {
  const item = document.createElement("li");
  item.id = `found-column-${place}`;
  item.setAttribute("role", "option");
  item.dir = "auto";
  item.textContent = named(name, 60);
  item.title = named(name, 500);
  item.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
  item.addEventListener("click", choose);
  return item;
}
