/**
 * The files of the console's page, read once: its document, its style, its modules as the build made
 * them, and the library that draws it. Modules name the library's packages, which a browser cannot
 * look up: each name is replaced with the address that its file is served at.
 */
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { shippedPath } from "../../base/shipped-path.ts";

/** A file as it is sent. */
export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
}

/** The document of every page, and the files below `/page/` by their paths there. */
export interface PageFiles {
  readonly shell: PageFile;
  readonly files: ReadonlyMap<string, PageFile>;
}

const FOLDER = "src/modules/console/page";
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};
/** The packages by their names in an import, and where each is served. */
const LIBRARY: Readonly<Record<string, string>> = {
  preact: "lib/preact.js",
  "preact/hooks": "lib/preact-hooks.js",
  htm: "lib/htm.js",
};
const BARE_IMPORT = /\bfrom\s*"(preact|preact\/hooks|htm)"/g;

/** Reads everything; rejects where the build has not made the page's modules. */
export async function loadPageFiles(): Promise<PageFiles> {
  const built = shippedPath(`dist/${FOLDER}`);
  const named = await readdir(built, { recursive: true });
  const modules = named.filter((name) => extname(name) === ".js");
  const entries = await Promise.all([
    styleSheet(),
    entryOf("icon.svg", shippedPath(`${FOLDER}/icon.svg`)),
    ...modules.map((name) => entryOf(name.replaceAll("\\", "/"), join(built, name))),
    ...libraryPaths().map(([name, path]) => entryOf(name, path)),
  ]);
  const [, shell] = await entryOf("shell.html", shippedPath(`${FOLDER}/shell.html`));
  return { shell, files: new Map(entries) };
}

/** One sheet out of its parts, in the order of their names. */
async function styleSheet(): Promise<readonly [string, PageFile]> {
  const folder = shippedPath(`${FOLDER}/style`);
  const names = (await readdir(folder)).filter((name) => extname(name) === ".css").sort();
  const parts = await Promise.all(names.map((name) => readFile(join(folder, name))));
  return ["style.css", { type: TYPES[".css"] ?? "", body: Buffer.concat(parts) }];
}

/** The library's files: of its packages, the variants that browsers load. */
function libraryPaths(): readonly (readonly [name: string, path: string])[] {
  const { resolve } = createRequire(import.meta.url);
  return [
    ["lib/preact.js", resolve("preact")],
    ["lib/preact-hooks.js", resolve("preact/hooks")],
    ["lib/htm.js", join(dirname(resolve("htm")), "htm.module.js")],
  ];
}

async function entryOf(name: string, path: string): Promise<readonly [string, PageFile]> {
  const type = TYPES[extname(name)] ?? "application/octet-stream";
  const body = await readFile(path);
  const isModule = extname(name) === ".js";
  return [name, { type, body: isModule ? withAddresses(body) : body }];
}

/** A module whose imports a browser can follow. */
function withAddresses(module: Buffer): Buffer {
  const text = module.toString("utf8");
  return Buffer.from(
    text.replace(BARE_IMPORT, (_, name: string) => `from "/page/${LIBRARY[name]}"`),
  );
}
