// Where the card goes, and arrows at the border.

import assert from "node:assert/strict";
import { test } from "node:test";

import { leaving } from "../src/arrows.js";
import { freePlace } from "../src/card.js";

const ROOM = [800, 600];

test("the card covers none of the places it explains, nor the pointer", () => {
  const size = [200, 150];
  const places = [[400, 300], [450, 330], [470, 420], [300, 250]];
  const [left, top] = freePlace([400, 300], size, places, ROOM);
  assert.ok(left >= 0 && left + size[0] <= ROOM[0] && top >= 0 && top + size[1] <= ROOM[1]);
  const covered = places.filter(
    ([x, y]) => x > left && x < left + size[0] && y > top && y < top + size[1],
  );
  assert.deepEqual(covered, []);
});

test("without neighbours the card is beside the pointer", () => {
  const [left, top] = freePlace([100, 100], [200, 150], [[100, 100]], ROOM);
  const gaps = [left - 100, 100 - left - 200, top - 100, 100 - top - 150];
  assert.ok(Math.max(...gaps) <= 18);
});

test("a card larger than the window stays at its corner", () => {
  assert.deepEqual(freePlace([10, 10], [900, 700], [], ROOM), [4, 4]);
});

test("a line to a point beyond the pane leaves it on the side where the point is", () => {
  const pane = { width: 200, height: 100 };
  assert.equal(leaving([50, 50], pane), null);
  assert.deepEqual(leaving([-100, 50], pane), { side: "left", share: 0.5 });
  assert.deepEqual(leaving([500, 250], pane), { side: "right", share: 1 });
  assert.deepEqual(leaving([100, -900], pane), { side: "top", share: 0.5 });
  assert.deepEqual(leaving([0, 150], pane), { side: "bottom", share: 0.25 });
});
