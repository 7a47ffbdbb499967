// Colours of many categories can be told apart.

import assert from "node:assert/strict";
import { test } from "node:test";

import { MOST_CLASSES, classColor, perceived } from "../src/colors.js";

function nearest(count) {
  const seen = Array.from({ length: count }, (_, place) => perceived(classColor(place)));
  let least = Infinity;
  seen.forEach((one, i) => {
    for (const other of seen.slice(0, i)) {
      least = Math.min(least, Math.hypot(...one.map((value, part) => value - other[part])));
    }
  });
  return least;
}

test("forty categories differ by more than what is just seen, two hundred still differ", () => {
  // A difference of about 0.02 in OKLab is just seen.
  assert.ok(nearest(40) > 0.06, String(nearest(40)));
  assert.ok(nearest(MOST_CLASSES) > 0.02, String(nearest(MOST_CLASSES)));
});

test("white is light and grey has no hue", () => {
  const [light, a, b] = perceived([255, 255, 255]);
  assert.ok(Math.abs(light - 1) < 1e-3 && Math.hypot(a, b) < 1e-3);
});
