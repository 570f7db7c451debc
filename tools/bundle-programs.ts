/**
 * Build step: bundles the modules of the programs, with their packages, into few files. Node takes
 * a third of a millisecond to find, read and link each of the 900 modules that every daemon loads
 * and of the 150 files of its packages (40 of 320 ms of CPU), and a start waits for all of them.
 * The files are not minified, so that stack traces stay readable; code that is loaded late is in
 * separate files.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type OutputAsset, type OutputChunk, type Plugin, rolldown } from "rolldown";
import { Visitor } from "rolldown/utils";
import { CLOSING, ENTRIES, IMPORT, OPENING } from "./load-bundle.ts";
import { sharedFiles } from "./package/shared-files.ts";

const DIST = fileURLToPath(new URL("..", import.meta.url));
/**
 * The bundled packages: those that a start waits for, yaml, which is needed right after the ready
 * line, and the large ones that MCP and upstream requests load; other packages are loaded late,
 * from where they are installed.
 */
const PACKAGES =
  /^(?:ajv|ajv-formats|canonicalize|commander|lru-cache|picocolors|pino|re2js|semver|smol-toml|toml-eslint-parser|yaml|undici|@modelcontextprotocol\/\w+)(?:\/|$)/;
/** The variable with the address of a bundle file. */
const HERE = "bundleAddress";
const PACKAGE_FOLDER = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/;
/** Modules that every start loads, with all their imports. */
const ALWAYS_LOADED = /\/dist\/src\/(?:app\/daemon|modules\/[^/]+\/module)\.js$/;

const shared = sharedFiles(DIST);

/** Resolves `import.meta` so that modules find files beside their source: both output folders are at the same depth. */
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

/** Wraps each file in a function whose arguments include `import`; its text is ASCII, one octet per character. */
const loadedFiles: Plugin = {
  name: "loaded-files",
  renderChunk(code) {
    const edits: Edit[] = [];
    new Visitor({
      ImportExpression: ({ start }) =>
        edits.push({ start, end: start + "import".length, text: IMPORT }),
      ObjectExpression: ({ properties }) => edits.push(...sharingShape(properties)),
    }).visit(this.parse(code));
    let rest = code;
    for (const { start, end, text } of edits.toSorted((one, other) => other.start - one.start))
      rest = rest.slice(0, start) + text + rest.slice(end);
    const text = rest.replace(
      /[^\0-\x7f]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    return `${OPENING}${text}${CLOSING}`;
  },
};

/** Replaces a range of text. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A member of an object literal in the syntax tree. */
interface Member {
  readonly type: string;
  readonly start: number;
}

/**
 * Prefixes `...{}` to object literals of the form `{ ...one, more }`. Why: V8 in Node 20 gives each
 * of those objects its own hidden class, so creating one takes 1.7 to 4.6 µs, and code that reads
 * many of them looks up each member (a call by one agent of 10,000 took 31 µs, and 25 without).
 * After a leading `...{}` they share one class, and creation takes 0.06.
 */
function sharingShape([first, ...others]: readonly Member[]): readonly Edit[] {
  if (first?.type !== "SpreadElement" || others.length === 0) return [];
  return [{ start: first.start, end: first.start, text: "...{}, " }];
}

/** The imports of a bundled package are bundled, too. */
function isBundled(id: string, importer = ""): boolean {
  if (id.startsWith("node:")) return false;
  return /^[./]/.test(id) || PACKAGES.test(id) || importer.includes("/node_modules/");
}

const bundle = await rolldown({
  input: Object.fromEntries(ENTRIES.map((name) => [name, `${DIST}tools/${name}.js`])),
  platform: "node",
  external: (id, importer) => !isBundled(id, importer),
  plugins: [ownAddresses, loadedFiles, shared.plugin],
});
const { output } = await bundle.write({
  dir: DIST,
  // Bytecode can only be kept for scripts, not for ES modules.
  format: "cjs",
  strict: true,
  intro: `const ${HERE} = require("node:url").pathToFileURL(__filename);`,
  // Keeps the comments that name the file of each module.
  minify: false,
  comments: false,
  entryFileNames: "bundle/[name].cjs",
  chunkFileNames: ({ name, facadeModuleId }) =>
    `bundle/${name === "command" && facadeModuleId ? basename(dirname(facadeModuleId)) : name}.cjs`,
  codeSplitting: {
    groups: [
      ...shared.groups,
      { name: "daemon", test: ALWAYS_LOADED },
      { name: "yaml", test: /\/node_modules\/yaml\// },
      { name: "undici", test: /\/node_modules\/undici\// },
    ],
  },
});
await bundle.close();
for (const name of ENTRIES) writeFileSync(`${DIST}tools/${name}.js`, entryOf(name));
writeFileSync(`${DIST}bundle/LICENSES.txt`, licensesOf(output).join("\n\n"));

/** The entry file that replaces the unbundled one. */
function entryOf(name: string): string {
  const exported = output.flatMap((file) =>
    file.type === "chunk" && file.name === name ? file.exports : [],
  );
  const loading = `loadBundled(${JSON.stringify(name)})`;
  return [
    `import { loadBundled } from "./load-bundle.js";`,
    exported.length === 0 ? `${loading};` : `export const { ${exported.join(", ")} } = ${loading};`,
    "",
  ].join("\n");
}

/** The licences of the packages in the files, each under its package's name. */
function licensesOf(files: readonly (OutputAsset | OutputChunk)[]): readonly string[] {
  const modules = files.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
  const folders = modules.flatMap((id) => PACKAGE_FOLDER.exec(id)?.[0] ?? []);
  return [...new Set(folders)].sort().map((folder) => {
    const license = readdirSync(folder).find((name) => /^licen[cs]e(?:\.|$)/i.test(name));
    if (license === undefined) throw new Error(`${folder} has no licence`);
    return `${basename(folder)}\n\n${readFileSync(`${folder}/${license}`, "utf8").trim()}\n`;
  });
}
