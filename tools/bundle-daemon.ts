/**
 * Part of the build: puts the modules that every daemon loads into one file, its packages included.
 * Node takes a third of a millisecond to find, read and link each of 900 modules and of the 150 files
 * of these packages (40 of 320 ms of CPU), and a start waits for all of them. The files are not minified,
 * so that a stack trace stays readable; whatever is loaded late stays where it is.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type OutputAsset, type OutputChunk, type Plugin, rolldown } from "rolldown";
import { Visitor } from "rolldown/utils";
import { CLOSING, ENTRIES, IMPORT, OPENING } from "./load-daemon.ts";

const DIST = fileURLToPath(new URL("..", import.meta.url));
/**
 * The packages that every daemon loads, yaml right behind the ready line, and those that one loads for MCP
 * or to ask an upstream, which are large; the other programs load them from where they are installed.
 */
const PACKAGES =
  /^(?:ajv|ajv-formats|canonicalize|lru-cache|pino|re2js|semver|smol-toml|yaml|undici|@modelcontextprotocol\/\w+)(?:\/|$)/;
/** The address of a file of the bundle. */
const HERE = "bundleAddress";
const PACKAGE_FOLDER = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/;
/** Each with all that it imports. */
const ALWAYS_LOADED = /\/dist\/src\/(?:app\/daemon|modules\/[^/]+\/module)\.js$/;

/** Lets a module find the files beside its own source: both folders of the output are one below. */
const ownAddresses: Plugin = {
  name: "own-addresses",
  transform(code, id) {
    if (!id.startsWith(DIST) || !code.includes("import.meta.")) return null;
    if (/import\.meta\.(?!url\b)/.test(code))
      throw new Error(`${id}: only import.meta.url is kept`);
    const own = JSON.stringify(`../${relative(DIST, id).split(sep).join("/")}`);
    return code.replaceAll("import.meta.url", `new URL(${own}, ${HERE}).href`);
  },
};

/** Each file is a function that its loader calls, and makes its imports; its text takes an octet a character. */
const loadedFiles: Plugin = {
  name: "loaded-files",
  renderChunk(code) {
    const starts: number[] = [];
    new Visitor({ ImportExpression: ({ start }) => starts.push(start) }).visit(this.parse(code));
    let rest = code;
    for (const start of starts.toSorted((one, other) => other - one))
      rest = `${rest.slice(0, start)}${IMPORT}${rest.slice(start + "import".length)}`;
    const text = rest.replace(
      /[^\0-\x7f]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    return `${OPENING}${text}${CLOSING}`;
  },
};

/** A package's own packages come with it. */
function isBundled(id: string, importer = ""): boolean {
  if (id.startsWith("node:")) return false;
  return /^[./]/.test(id) || PACKAGES.test(id) || importer.includes("/node_modules/");
}

const bundle = await rolldown({
  input: Object.fromEntries(ENTRIES.map((name) => [name, `${DIST}tools/${name}.js`])),
  platform: "node",
  external: (id, importer) => !isBundled(id, importer),
  plugins: [ownAddresses, loadedFiles],
});
const { output } = await bundle.write({
  dir: DIST,
  // A module of ECMAScript cannot be given its bytecode.
  format: "cjs",
  strict: true,
  intro: `const ${HERE} = require("node:url").pathToFileURL(__filename);`,
  // Each module begins with a comment that names its file.
  minify: false,
  comments: false,
  entryFileNames: "daemon/[name].cjs",
  chunkFileNames: "daemon/[name].cjs",
  codeSplitting: {
    groups: [
      { name: "daemon", test: ALWAYS_LOADED },
      { name: "yaml", test: /\/node_modules\/yaml\// },
      { name: "undici", test: /\/node_modules\/undici\// },
    ],
  },
});
await bundle.close();
for (const name of ENTRIES) writeFileSync(`${DIST}tools/${name}.js`, entryOf(name));
writeFileSync(`${DIST}daemon/LICENSES.txt`, licensesOf(output).join("\n\n"));

/** In the place of the unbundled one. */
function entryOf(name: string): string {
  const exported = output.flatMap((file) =>
    file.type === "chunk" && file.name === name ? file.exports : [],
  );
  const loading = `loadDaemon(${JSON.stringify(name)})`;
  return [
    `import { loadDaemon } from "./load-daemon.js";`,
    exported.length === 0 ? `${loading};` : `export const { ${exported.join(", ")} } = ${loading};`,
    "",
  ].join("\n");
}

/** The licences of the packages whose code is in the files, each under its package's name. */
function licensesOf(files: readonly (OutputAsset | OutputChunk)[]): readonly string[] {
  const modules = files.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
  const folders = modules.flatMap((id) => PACKAGE_FOLDER.exec(id)?.[0] ?? []);
  return [...new Set(folders)].sort().map((folder) => {
    const license = readdirSync(folder).find((name) => /^licen[cs]e(?:\.|$)/i.test(name));
    if (license === undefined) throw new Error(`${folder} has no licence`);
    return `${basename(folder)}\n\n${readFileSync(`${folder}/${license}`, "utf8").trim()}\n`;
  });
}
