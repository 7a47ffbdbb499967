// Where the card goes, and arrows at the border.

import assert from "node:assert/strict";
import { test } from "node:test";

import { leaving } from "../src/arrows.js";
import { freePlace } from "../src/placing.js";

const ROOM = { left: 0, top: 0, width: 800, height: 600 };

const covered = (places, { left, top, width, height }) =>
  places.filter(([x, y]) => x > left && x < left + width && y > top && y < top + height);

const isWithin = (card, room) =>
  card.left >= room.left &&
  card.top >= room.top &&
  card.left + card.width <= room.left + room.width &&
  card.top + card.height <= room.top + room.height;

test("the card covers none of the places it explains, nor the pointer", () => {
  const places = [[400, 300], [450, 330], [470, 420], [300, 250]];
  const card = freePlace([400, 300], [200, 150], places, [ROOM]);
  assert.ok(isWithin(card, ROOM));
  assert.deepEqual([card.width, card.height], [200, 150]);
  assert.deepEqual(covered(places, card), []);
});

test("without neighbours the card is beside the pointer", () => {
  const { left, top } = freePlace([100, 100], [200, 150], [[100, 100]], [ROOM]);
  const gaps = [left - 100, 100 - left - 200, top - 100, 100 - top - 150];
  assert.ok(Math.max(...gaps) <= 18);
});

test("a card larger than its room becomes as small as that", () => {
  const card = freePlace([10, 10], [900, 700], [], [ROOM]);
  assert.ok(isWithin(card, ROOM));
});

test("a card becomes lower, then narrower, before it covers anything", () => {
  const low = { left: 100, top: 50, width: 400, height: 300 };
  // A row of places in the middle leaves 140 pixels above and below it.
  const row = Array.from({ length: 20 }, (_, i) => [110 + 20 * i, 200]);
  const card = freePlace([300, 200], [320, 280], row, [low]);
  assert.ok(isWithin(card, low));
  assert.deepEqual(covered(row, card), []);
  assert.ok(card.height < 140 && card.width === 320);
  // Another from top to bottom leaves 230 to one side.
  const cross = [...row, ...Array.from({ length: 15 }, (_, i) => [260, 60 + 20 * i])];
  const narrow = freePlace([260, 200], [320, 280], cross, [low]);
  assert.ok(isWithin(narrow, low));
  assert.deepEqual(covered(cross, narrow), []);
  assert.ok(narrow.width < 320);
});

test("a card goes to the other pane where it fits", () => {
  const [full, empty] = [{ left: 0, top: 100, width: 300, height: 200 }, { left: 320, top: 100, width: 300, height: 200 }];
  const places = Array.from({ length: 150 }, (_, i) => [10 + 20 * (i % 15), 110 + 20 * Math.floor(i / 15)]);
  const card = freePlace([150, 200], [250, 180], places, [full, empty]);
  assert.ok(isWithin(card, empty));
  assert.deepEqual([card.width, card.height], [250, 180]);
});

test("a line to a point beyond the pane leaves it on the side where the point is", () => {
  const pane = { width: 200, height: 100 };
  assert.equal(leaving([50, 50], pane), null);
  assert.deepEqual(leaving([-100, 50], pane), { side: "left", share: 0.5 });
  assert.deepEqual(leaving([500, 250], pane), { side: "right", share: 1 });
  assert.deepEqual(leaving([100, -900], pane), { side: "top", share: 0.5 });
  assert.deepEqual(leaving([0, 150], pane), { side: "bottom", share: 0.25 });
});
