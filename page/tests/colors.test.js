// Colours of many categories can be told apart.

import assert from "node:assert/strict";
import { test } from "node:test";

import { MOST_CLASSES, classColor, perceived } from "../src/colors.js";

function nearest(count, theme) {
  const seen = Array.from({ length: count }, (_, place) => perceived(classColor(place, theme)));
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
  for (const theme of ["light", "dark"]) {
    assert.ok(nearest(40, theme) > 0.06, `${theme} ${nearest(40, theme)}`);
    assert.ok(nearest(MOST_CLASSES, theme) > 0.02, `${theme} ${nearest(MOST_CLASSES, theme)}`);
  }
});

test("every class stands out from a dark ground", () => {
  const luminance = (color) => {
    const [r, g, b] = color.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = luminance([21, 24, 28]);
  for (let place = 0; place < MOST_CLASSES; place++) {
    const contrast = (luminance(classColor(place, "dark")) + 0.05) / (ground + 0.05);
    assert.ok(contrast > 3, `${classColor(place, "dark")} has a contrast of ${contrast}`); // WCAG 1.4.11
  }
});

test("white is light and grey has no hue", () => {
  const [light, a, b] = perceived([255, 255, 255]);
  assert.ok(Math.abs(light - 1) < 1e-3 && Math.hypot(a, b) < 1e-3);
});
