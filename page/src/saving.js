// Files that the page saves: the selected rows, and pictures of what is seen.

import { Column } from "./data.js";
import { drawingOf, pictureOf } from "./drawing.js";
import { parquetOf } from "./parquet.js";
import { csvOf } from "./table.js";
import { byId, viewKey } from "./words.js";

/** @typedef {import("./app.js").App} App */

/** @param {App} app */
export function bindSaving(app) {
  const on = (id, action) => byId(id).addEventListener("click", action);
  on("export", () => save("selected.csv", "text/csv", csvOf(app.rows, columnsOf(app))));
  on("export-parquet", () => {
    save("selected.parquet", "application/vnd.apache.parquet", parquetOf(app.rows, columnsOf(app)));
  });
  on("save-png", () => {
    byId("save").open = false;
    pictureOf(app).toBlob((blob) => save("patchfold.png", "image/png", blob));
  });
  on("save-svg", () => {
    byId("save").open = false;
    save("patchfold.svg", "image/svg+xml", drawingOf(app));
  });
}

/** The columns of a file: those of the data, and the places in the panes. */
function columnsOf(app) {
  const views = new Map(app.panes.map((pane) => [pane.view, pane]));
  const places = [...views].flatMap(([view, pane]) =>
    ["x", "y"].map((axis, part) => placeColumn(`${viewKey(view)} ${axis}`, pane, part)),
  );
  return [app.ids, ...app.columns, ...places];
}

/** A coordinate of the points of a pane, as a column. */
function placeColumn(name, pane, part) {
  const values = Float64Array.from({ length: pane.n }, (_, row) => pane.places[2 * row + part]);
  return new Column({ name, kind: "number" }, values);
}

/** Let the browser save a file. */
function save(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
