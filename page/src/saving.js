// Files that the page saves: the selected rows, and pictures of what is seen.

import { Column } from "./data.js";
import { drawingOf, pictureOf } from "./drawing.js";
import { parquetOf } from "./parquet.js";
import { csvOf } from "./table.js";
import { byId, viewKey } from "./words.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./pane.js").Pane} Pane
 */

const NO_PICTURE = "The browser could not make a picture of this size; make the window smaller, or save the drawing";

/** @param {App} app */
export function bindSaving(app) {
  /** @type {(id: string, action: () => void) => void} */
  const on = (id, action) => byId(id).addEventListener("click", action);
  const menu = byId("save", HTMLDetailsElement);
  on("export", () => save("selected.csv", "text/csv", csvOf(app.table.rows, columnsOf(app))));
  on("export-parquet", () => {
    save("selected.parquet", "application/vnd.apache.parquet", parquetOf(app.table.rows, columnsOf(app)));
  });
  on("save-png", () => {
    menu.open = false;
    pictureOf(app).toBlob((blob) => {
      if (blob) save("patchfold.png", "image/png", blob);
      else byId("summary").textContent = NO_PICTURE;
    });
  });
  on("save-svg", () => {
    menu.open = false;
    save("patchfold.svg", "image/svg+xml", drawingOf(app));
  });
}

/**
 * The columns of a file: those of the selection and of the data, and the places in the panes.
 * @param {App} app
 */
function columnsOf(app) {
  const views = new Map(app.panes.map((pane) => [pane.view, pane]));
  const places = [...views].flatMap(([view, pane]) =>
    view ? ["x", "y"].map((axis, part) => placeColumn(`${viewKey(view)} ${axis}`, pane, part)) : [],
  );
  return [app.ids, ...app.table.extra, ...app.columns, ...places];
}

/**
 * A coordinate of the points of a pane, as a column.
 * @param {string} name
 * @param {Pane} pane
 * @param {number} part
 */
function placeColumn(name, pane, part) {
  const values = Float64Array.from({ length: pane.n }, (_, row) => pane.places[2 * row + part]);
  return new Column({ name, kind: "number" }, values);
}

/**
 * Let the browser save a file.
 * @param {string} name
 * @param {string} type
 * @param {BlobPart} content
 */
function save(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
