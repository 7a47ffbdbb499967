// Clusters, their names, and where labels go.

import assert from "node:assert/strict";
import { test } from "node:test";

import { clustersOf } from "../src/clusters.js";
import { Column } from "../src/data.js";
import { middle, placedLabels } from "../src/labels.js";
import { groupsOf } from "../src/legend.js";
import { namesOf } from "../src/telling.js";
import { random } from "./random.js";

const CENTRES = [[0, 0], [10, 0], [4, 9]];

/** Three heaps of 200, 150 and 100 points, in turns. */
function heaps() {
  const draw = random(1);
  const normal = () => draw() + draw() + draw() + draw() - 2;
  const truth = Array.from({ length: 450 }, (_, row) => (row < 200 ? 0 : row < 350 ? 1 : 2));
  const places = Float32Array.from(truth.flatMap((heap) => CENTRES[heap].map((at) => at + normal())));
  return { truth, places };
}

test("heaps are clusters, numbered from the largest", () => {
  const { truth, places } = heaps();
  const { labels, count } = clustersOf(places);
  assert.equal(count, 3);
  const wrong = truth.filter((heap, row) => labels[row] !== heap).length;
  assert.ok(wrong < 10, `${wrong} wrong`);
});

test("one heap is one cluster, and a point alone is none", () => {
  const { places } = heaps();
  const one = clustersOf(places.slice(0, 400));
  assert.equal(one.count, 1);
  assert.equal(clustersOf(new Float32Array(2)).count, 0);
});

test("clusters are called by words, else by their category, else by features", () => {
  const { truth } = heaps();
  const clusters = { labels: Int32Array.from(truth), count: 3 };
  const rows = truth.map((_, row) => row);
  const kinds = ["red", "green", "blue"];
  const texts = rows.map((row) => `the ${kinds[truth[row]]} thing ${row % 7 ? "the" : kinds[(row + 1) % 3]}`);
  const text = new Column({ name: "text", kind: "text", texts }, rows);
  assert.deepEqual(namesOf(clusters, [text], text), kinds);
  const category = new Column({ name: "kind", kind: "text", texts: kinds }, truth);
  assert.deepEqual(namesOf(clusters, [category], null), kinds);
  const size = new Column({ name: "size", kind: "number" }, truth.map((heap) => (heap === 2 ? 9.5 : 1)));
  const code = new Column({ name: "code", kind: "number", whole: true }, truth);
  assert.deepEqual(namesOf(clusters, [code], null), ["code 0", "code 1", "code 2"]);
  assert.deepEqual(namesOf(clusters, [size], null).at(-1), "high size");
});

test("a cluster has as many names as there is room for, and no half ones", () => {
  const { truth } = heaps();
  const clusters = { labels: Int32Array.from(truth), count: 3 };
  const column = (/** @type {string} */ name) => new Column({ name, kind: "number" }, truth.map((heap) => heap + 0.5));
  assert.equal(namesOf(clusters, [column("size"), column("age")], null)[0], "low size, low age");
  assert.equal(namesOf(clusters, [column("temperature"), column("rainfall in mm")], null)[0], "low temperature");
});

test("where a number decides, clusters are not called by words or categories of chance", () => {
  const { truth } = heaps();
  const draw = random(8);
  const clusters = { labels: Int32Array.from(truth), count: 3 };
  const words = Array.from({ length: 60 }, (_, i) => `word${String.fromCharCode(97 + (i % 26))}${i}`);
  const pick = () => words[Math.floor(60 * draw())];
  const texts = truth.map(() => `${pick()} ${pick()} ${pick()}`);
  const text = new Column({ name: "remark", kind: "text", texts }, truth.map((_, row) => row));
  const shop = new Column({ name: "shop", kind: "text", texts: words.slice(0, 20) }, truth.map(() => Math.floor(20 * draw())));
  const price = new Column({ name: "price", kind: "number" }, truth.map((heap) => 10 * heap + draw()));
  const [first, second, third] = namesOf(clusters, [text, shop, price], text);
  assert.deepEqual([first, third], ["low price", "high price"]);
  assert.match(second, /^(high|low) price$/);
  // Without the price nothing is left but chance.
  assert.deepEqual(namesOf(clusters, [text, shop], text), ["", "", ""]);
});

test("of names of chance less than one in twenty maps has any", () => {
  const draw = random(11);
  let named = 0;
  for (let trial = 0; trial < 60; trial++) {
    const labels = Int32Array.from({ length: 120 }, () => Math.floor(4 * draw()));
    const columns = Array.from({ length: 30 }, (_, i) =>
      new Column({ name: `c${i}`, kind: "number" }, Float64Array.from({ length: 120 }, () => draw())));
    const kinds = new Column({ name: "kind", kind: "text", texts: ["a", "b", "c"] }, Uint32Array.from({ length: 120 }, () => 3 * draw()));
    if (namesOf({ labels, count: 4 }, [...columns, kinds], null).some(Boolean)) named++;
  }
  assert.ok(named <= 3, `${named} of 60`);
});

test("numbers come first where they tell as much, and words where they tell more", () => {
  const { truth } = heaps();
  const clusters = { labels: Int32Array.from(truth), count: 3 };
  const kind = new Column({ name: "kind", kind: "text", texts: ["red", "green", "blue"] }, truth);
  const clean = new Column({ name: "size", kind: "number" }, truth.map((heap) => heap + 0.5));
  assert.deepEqual(namesOf(clusters, [kind, clean], null).filter((_, i) => i !== 1), ["low size", "high size"]);
  const code = new Column({ name: "group", kind: "text", texts: ["0", "1", "2"] }, truth);
  assert.deepEqual(namesOf(clusters, [code], null), ["group 0", "group 1", "group 2"]);
  const draw = random(2);
  const noisy = new Column({ name: "size", kind: "number" }, truth.map((heap) => heap + 4 * draw()));
  assert.deepEqual(namesOf(clusters, [kind, noisy], null), ["red", "green", "blue"]);
});

test("the middle of a group is where most of it is, not between its parts", () => {
  const draw = random(3);
  const places = Float32Array.from({ length: 300 }, (_, i) => (i < 200 ? 0 : 50) + draw());
  const { x, y } = middle(places, [...Array(150).keys()]);
  assert.ok(x < 2 && y < 2);
});

test("labels do not overlap, and there is room for more when zoomed in", () => {
  const draw = random(5);
  const labels = Array.from({ length: 60 }, (_, i) => ({
    text: `label ${i}`, x: draw(), y: draw(), spread: 0.1, count: 100 - i,
  }));
  const at = (zoom, taken = []) => {
    const pane = {
      width: 400, height: 300, camera: { x: 0.5, y: 0.5, zoom },
      toScreen: ([x, y]) => [(x - 0.5) * zoom + 200, 150 - (y - 0.5) * zoom],
    };
    return placedLabels(labels, /** @type {any} */ (pane), (text, size) => 0.5 * size * text.length, taken);
  };
  const seen = at(280);
  const arrow = { left: 100, top: 0, width: 200, height: 300 };
  for (const { left, width } of at(280, [arrow])) assert.ok(left + width <= 100 || left >= 300);
  assert.ok(seen.length > 5 && seen.length < 60);
  for (const a of seen) {
    for (const b of seen) {
      const apart = a.left + a.width <= b.left || b.left + b.width <= a.left ||
        a.top + a.height <= b.top || b.top + b.height <= a.top;
      assert.ok(a === b || apart);
    }
  }
  const left = seen.map(({ label }) => label);
  const inside = labels.filter(({ x, y }) => Math.abs(x - 0.5) < 0.1 && Math.abs(y - 0.5) < 0.1);
  const near = at(1500).map(({ label }) => label);
  assert.ok(inside.filter((label) => near.includes(label)).length >= inside.filter((label) => left.includes(label)).length);
  assert.equal(at(1e5).length, 0); // faded
  assert.ok(at(10).length < seen.length);
});

test("many labels are grouped by their beginnings, few or unlike ones are not", () => {
  const topics = ["comp", "rec", "sci"].flatMap((group) =>
    Array.from({ length: 8 }, (_, i) => ({ label: `${group}.topic${i}` })));
  assert.deepEqual(groupsOf(topics).map(({ name, entries }) => [name, entries.length]), [["comp", 8], ["rec", 8], ["sci", 8]]);
  assert.equal(groupsOf(topics.slice(0, 12)).length, 1);
  assert.equal(groupsOf(Array.from({ length: 30 }, (_, i) => ({ label: `name ${i}` }))).length, 1);
});

test("a long name at the border is moved into the pane, over its own points", () => {
  const label = { text: "a long name", x: 0, y: 0, spread: 1, count: 9 };
  for (const x of [60, 340]) {
    const pane = { width: 400, height: 300, camera: { zoom: 100 }, toScreen: () => [x, 150] };
    const [{ left, width }] = placedLabels([label], /** @type {any} */ (pane), () => 200.4);
    assert.ok(left >= 2 && left <= x && left + width >= x && left + width <= 398, `${left}`);
  }
});
