// What the parts of the page tell each other, as types; nothing of it runs.

/** @typedef {[number, number]} Place x and y */

export {};
