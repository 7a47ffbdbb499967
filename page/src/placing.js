// Where the card goes: inside a pane, beside what it explains.

const AWAY = 18; // pixels from the pointer
const NEAR = 6; // pixels around a neighbour that stay free
const EDGE = 4; // pixels to the border of the room
const STEP = 24; // pixels between two places that are tried
const SHARES = [1, 0.8, 0.6, 0.45, 0.3]; // of its height that a card keeps where there is less room
const NARROW = 0.7; // of its width, where there is still less
const LOWEST = 76; // pixels, two lines and the border

/**
 * @typedef {import("./types.js").Place} Place
 * @typedef {import("./types.js").Rectangle} Rectangle
 */

/**
 * Where a card covers none of some places, as near to the pointer as can be and inside one of the
 * rooms. Where it does not fit it becomes lower and then narrower; the smallest covers the fewest.
 * @param {Place} pointer
 * @param {[number, number]} size width and height that the card would like
 * @param {Place[]} places
 * @param {Rectangle[]} rooms
 * @returns {Rectangle}
 */
export function freePlace(pointer, size, places, rooms) {
  let best = { left: EDGE, top: EDGE, width: size[0], height: size[1] };
  for (const wide of [1, NARROW]) {
    for (const share of SHARES) {
      let least = Infinity;
      for (const room of rooms) {
        const width = Math.min(wide * size[0], room.width - 2 * EDGE);
        const height = Math.min(Math.max(share * size[1], Math.min(LOWEST, size[1])), room.height - 2 * EDGE);
        const found = placedIn(room, pointer, [width, height], places);
        if (found.cost < least) [least, best] = [found.cost, found.at];
      }
      if (least < COVERED) return best;
    }
  }
  return best;
}

const COVERED = 1e6; // what covering a place costs, beside the pixels from the pointer

/**
 * @param {Rectangle} room
 * @param {Place} pointer
 * @param {[number, number]} size
 * @param {Place[]} places
 * @returns {{ cost: number, at: Rectangle }}
 */
function placedIn(room, [x, y], [width, height], places) {
  let best = { cost: Infinity, at: { left: room.left + EDGE, top: room.top + EDGE, width, height } };
  for (const left of tried(room.left, room.width - width, [x + AWAY, x - AWAY - width])) {
    for (const top of tried(room.top, room.height - height, [y + 12, y - 12 - height])) {
      const covers = (/** @type {Place} */ at, /** @type {number} */ gap) =>
        at[0] > left - gap && at[0] < left + width + gap && at[1] > top - gap && at[1] < top + height + gap;
      const gap = Math.hypot(
        Math.max(left - x, x - left - width, 0),
        Math.max(top - y, y - top - height, 0),
      );
      let cost = gap + (covers([x, y], 4) ? 10 * COVERED : 0);
      for (const at of places) if (covers(at, NEAR)) cost += COVERED;
      if (cost < best.cost) best = { cost, at: { left, top, width, height } };
    }
  }
  return best;
}

/**
 * Places along a side of a room: some that are wished for, then all of a raster.
 * @param {number} start
 * @param {number} slack what the card leaves of the side
 * @param {number[]} wished
 */
function tried(start, slack, wished) {
  const [low, high] = [start + EDGE, Math.max(start + slack - EDGE, start + EDGE)];
  const found = wished.map((value) => Math.min(Math.max(value, low), high));
  for (let value = low; value < high; value += STEP) found.push(value);
  return [...found, high];
}
