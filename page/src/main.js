// Where the page begins.

import { App } from "./app.js";
import { Column, description } from "./data.js";
import { byId } from "./words.js";

const NO_WEBGL = `This page draws with WebGL 2, which this browser does not offer. Use a current
Firefox, Chrome, Edge or Safari, and see that graphics acceleration is not switched off.`;
const TOO_OLD = "This page needs a browser of 2023 or later, which can unpack its data.";

/**
 * Say in place of the page why it cannot be shown.
 * @param {string} words
 */
function giveUp(words) {
  const message = document.createElement("p");
  message.id = "failure";
  message.setAttribute("role", "alert");
  message.textContent = words;
  byId("workspace").replaceChildren(message);
}

async function begin() {
  const columns = await Promise.all(description().columns.map((packed) => Column.load(packed)));
  const ids = await Column.load(description().ids);
  const app = new App(columns, ids);
  app.start();
  Object.assign(window, { patchfold: app }); // for scripts
}

if (!document.createElement("canvas").getContext("webgl2")) giveUp(NO_WEBGL);
else if (typeof DecompressionStream === "undefined") giveUp(TOO_OLD);
else begin();
