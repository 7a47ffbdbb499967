// Random numbers that are the same every time.

/** Numbers from 0 to 1 (a linear congruence; enough to scatter points). */
export function random(seed) {
  let state = seed >>> 0;
  return () => (state = (1664525 * state + 1013904223) >>> 0) / 2 ** 32;
}
