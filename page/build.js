// Bundle the page's program into the Python package; with --check, see whether that was done.

import { build } from "esbuild";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../src/patchfold/explorer/page.js", import.meta.url));

const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("src/main.js", import.meta.url))],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  outfile: PROGRAM,
  write: !process.argv.includes("--check"),
});

if (outputFiles) {
  const committed = await readFile(PROGRAM, "utf8").catch(() => "");
  if (outputFiles[0].text !== committed) {
    console.error("src/patchfold/explorer/page.js is not that of page/src; run `make page`.");
    process.exit(1);
  }
}
