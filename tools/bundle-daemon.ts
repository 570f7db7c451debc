/**
 * Part of the build: puts the modules that every daemon loads into one file. Node takes a third of a
 * millisecond to find, read and link each of 900, and a start waits for all of them. The files are not
 * minified, so that a stack trace stays readable; packages stay where they are, and so does whatever
 * is loaded late.
 */
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type Plugin, rolldown } from "rolldown";

const DIST = fileURLToPath(new URL("..", import.meta.url));
const ENTRIES = ["agtpd-daemon", "agtpd-worker"];
/** Each with all that it imports. */
const ALWAYS_LOADED = /\/dist\/src\/(?:app\/daemon|modules\/[^/]+\/module)\.js$/;

/** Lets a module find the files beside its own source: both folders of the output are one below. */
const ownAddresses: Plugin = {
  name: "own-addresses",
  transform(code, id) {
    if (!code.includes("import.meta.")) return null;
    if (/import\.meta\.(?!url\b)/.test(code))
      throw new Error(`${id}: only import.meta.url is kept`);
    const own = JSON.stringify(`../${relative(DIST, id).split(sep).join("/")}`);
    return code.replaceAll("import.meta.url", `new URL(${own}, import.meta.url).href`);
  },
};

const bundle = await rolldown({
  input: Object.fromEntries(ENTRIES.map((name) => [name, `${DIST}tools/${name}.js`])),
  platform: "node",
  external: (id) => !(id.startsWith(".") || id.startsWith("/")),
  plugins: [ownAddresses],
});
await bundle.write({
  dir: DIST,
  format: "esm",
  // Each module begins with a comment that names its file.
  minify: false,
  // In the place of the unbundled ones.
  entryFileNames: "tools/[name].js",
  chunkFileNames: "daemon/[name].js",
  codeSplitting: { groups: [{ name: "daemon", test: ALWAYS_LOADED }] },
});
await bundle.close();
