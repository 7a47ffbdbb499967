// Arrows at the border of a pane: points that lie beyond it, and how many.

import { counted } from "./words.js";

/**
 * @typedef {import("./pane.js").Pane} Pane
 * @typedef {import("./types.js").Place} Place
 * @typedef {keyof typeof ARROWS} Side
 * @typedef {{ side: Side, share: number, count: number }} Group of points beyond a side
 */

const BINS = 3; // groups of points on each side of a pane
const ARROWS = { left: "\u25c0", right: "\u25b6", top: "\u25b2", bottom: "\u25bc" };

/**
 * Show the arrows of a pane, or none where its camera has left the place that Fit gives it.
 * @param {Pane} pane
 */
export function showArrows(pane) {
  const groups = pane.fitted && pane.share === 1 ? grouped(pane) : [];
  const key = JSON.stringify(groups);
  if (key === pane.arrows) return;
  pane.arrows = key;
  const place = pane.find(".beyond");
  place.replaceChildren(...groups.map((group) => arrow(pane, group)));
  if (groups.length) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "small show-all";
    const count = groups.reduce((sum, group) => sum + group.count, 0);
    button.textContent = `${counted(count)} beyond \u00b7 Show all`;
    button.addEventListener("click", () => pane.fitAll());
    place.append(button);
  }
}

/**
 * @param {Pane} pane
 * @param {Group} group
 */
function arrow(pane, { side, share, count }) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = `arrow ${side}`;
  const words = counted(count);
  button.textContent = side === "right" ? `${words} ${ARROWS[side]}` : `${ARROWS[side]} ${words}`;
  button.title = `${words} ${count === 1 ? "point lies" : "points lie"} beyond: show all`;
  button.style[side === "left" || side === "right" ? "top" : "left"] = `${100 * share}%`;
  button.addEventListener("click", () => pane.fitAll());
  return button;
}

/**
 * Points beyond the border, by side and place.
 * @param {Pane} pane
 */
function grouped(pane) {
  /** @type {Map<string, Group>} */
  const groups = new Map();
  for (const row of pane.beyond) {
    if (!pane.app.visible[row]) continue;
    const found = leaving(pane.toScreen(pane.place(row)), pane);
    if (!found) continue;
    const bin = Math.min(Math.floor(found.share * BINS), BINS - 1);
    const key = `${found.side} ${bin}`;
    const group = groups.get(key) ?? { side: found.side, share: (bin + 0.5) / BINS, count: 0 };
    group.count++;
    groups.set(key, group);
  }
  return [...groups.values()];
}

/**
 * Where a line from the middle of a pane to a place beyond it leaves the pane, or null.
 * @param {Place} place
 * @param {{ width: number, height: number }} pane
 * @returns {{ side: Side, share: number } | null}
 */
export function leaving([x, y], { width, height }) {
  if (x >= 0 && x <= width && y >= 0 && y <= height) return null;
  const [across, up] = [(2 * x) / width - 1, (2 * y) / height - 1];
  const sideways = Math.abs(across) >= Math.abs(up);
  const share = (1 + (sideways ? up / Math.abs(across) : across / Math.abs(up))) / 2;
  if (sideways) return { side: across < 0 ? "left" : "right", share };
  return { side: up < 0 ? "top" : "bottom", share };
}
