/**
 * The files of the console's page, read once: document, style sheet, bundled modules, and libraries. An import map in
 * the document resolves package names and gives each module's integrity hash; the content security policy names the
 * map by its hash. Each path contains a hash over these files, so that browsers cache them until one changes.
 */
import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { shippedPath } from "../../base/paths.ts";

interface PageFile {
  readonly type: string;
  readonly body: Buffer;
}

/** The document of every page, and the files below `/page/` by path. */
export interface PageFiles {
  readonly shell: PageFile;
  /** The hash of the document's only inline script, as a policy names it: `sha256-…`. */
  readonly scriptHash: string;
  readonly files: ReadonlyMap<string, PageFile>;
  /** The first segment of the cacheable paths: `v-…/`. */
  readonly version: string;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};
/** Path of the WebAuthn library for browsers. */
const WEBAUTHN = "lib/webauthn/";
/** Packages by import name, with the path where each is served. */
const LIBRARY: Readonly<Record<string, string>> = {
  preact: "lib/preact.js",
  "preact/hooks": "lib/preact-hooks.js",
  htm: "lib/htm.js",
  "@simplewebauthn/browser": `${WEBAUTHN}index.js`,
  uplot: "lib/uplot.js",
};
/** Placeholder of the import map in the document. */
const PLACE = "<!-- modules -->";

/** Reads every file; rejects if the page's module was not built. */
export async function loadPageFiles(): Promise<PageFiles> {
  const named = [
    ["icon.svg", shippedPath("src/modules/console/page/icon.svg")],
    ["main.js", shippedPath("dist/bundle/console-page.js")],
    ...libraryPaths(),
    ...(await webauthnPaths()),
  ] as const;
  const entries = [await styleSheet()];
  // One after the other: reading in parallel would take a file descriptor each.
  for (const [name, path] of named) entries.push(await entryOf(name, path));
  const document = shippedPath("src/modules/console/page/shell.html");
  const [, shell] = await entryOf("shell.html", document);
  const files = new Map(entries);
  const version = versionOf(files);
  const map = moduleMap(files, version);
  const links = [...files.keys()].filter(isPreloaded).map((name) => preload(version + name));
  const script = `<script type="importmap">${map}</script>`;
  const text = shell.body
    .toString("utf8")
    .replaceAll("/page/", () => `/page/${version}`)
    .replace(PLACE, () => [script, ...links].join("\n"));
  return {
    version,
    shell: { ...shell, body: Buffer.from(text) },
    scriptHash: `sha256-${hash("sha256", map, "base64")}`,
    files,
  };
}

function versionOf(files: ReadonlyMap<string, PageFile>): string {
  const all = [...files].map(([name, { body }]) => `${name} ${hash("sha256", body)}`).sort();
  return `v-${hash("sha256", all.join("\n")).slice(0, 16)}/`;
}

/** The import map: package names to addresses, and modules to integrity hashes. */
function moduleMap(files: ReadonlyMap<string, PageFile>, version: string): string {
  const imports = Object.entries(LIBRARY).map(([name, path]) => [name, `/page/${version}${path}`]);
  const integrity = [...files].flatMap(([name, { body }]) =>
    isModule(name) ? [[`/page/${version}${name}`, `sha384-${hash("sha384", body, "base64")}`]] : [],
  );
  const map = { imports: Object.fromEntries(imports), integrity: Object.fromEntries(integrity) };
  return JSON.stringify(map).replaceAll("<", "\\u003c");
}

function isModule(name: string): boolean {
  return extname(name) === ".js";
}

/** False for a library that is loaded at first use. */
function isPreloaded(name: string): boolean {
  return isModule(name) && !name.startsWith(WEBAUTHN);
}

/** Makes the browser fetch modules in parallel instead of one after the other. */
function preload(name: string): string {
  return `<link rel="modulepreload" href="/page/${name}">`;
}

/** Concatenates the parts of the style sheet in the order of their names. */
async function styleSheet(): Promise<readonly [string, PageFile]> {
  const folder = shippedPath("src/modules/console/page/style");
  const names = (await readdir(folder)).filter((name) => extname(name) === ".css").sort();
  const parts = [await readFile(uplotPath("uPlot.min.css"))];
  for (const name of names) parts.push(await readFile(join(folder, name)));
  return ["style.css", { type: TYPES[".css"] ?? "", body: Buffer.concat(parts) }];
}

/** Paths of the libraries, in the variant that browsers load. */
function libraryPaths(): readonly (readonly [name: string, path: string])[] {
  const { resolve } = createRequire(import.meta.url);
  return [
    ["lib/preact.js", resolve("preact")],
    ["lib/preact-hooks.js", resolve("preact/hooks")],
    ["lib/htm.js", join(dirname(resolve("htm")), "htm.module.js")],
    ["lib/uplot.js", uplotPath("uPlot.esm.js")],
  ];
}

/** Paths of the WebAuthn library, whose modules import each other. */
async function webauthnPaths(): Promise<readonly (readonly [name: string, path: string])[]> {
  const main = createRequire(import.meta.url).resolve("@simplewebauthn/browser");
  const folder = join(dirname(main), "../esm");
  const named = await readdir(folder, { recursive: true });
  return named
    .filter((name) => extname(name) === ".js")
    .map((name) => [`${WEBAUTHN}${name.replaceAll("\\", "/")}`, join(folder, name)]);
}

function uplotPath(name: string): string {
  return join(dirname(createRequire(import.meta.url).resolve("uplot")), name);
}

async function entryOf(name: string, path: string): Promise<readonly [string, PageFile]> {
  const type = TYPES[extname(name)] ?? "application/octet-stream";
  return [name, { type, body: await readFile(path) }];
}
