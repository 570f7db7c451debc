/**
 * Loads the files of the bundle with the bytecode kept by the build: a start compiles none of them
 * again, which saves a third of a daemon's time, and neither does its first second. Bytecode of
 * another Node version or other flags is not used.
 */
import { Buffer } from "node:buffer";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";

export const FOLDER: string = fileURLToPath(new URL("../bundle/", import.meta.url));
/** The files that are loaded directly; the others are loaded by these. */
export const ENTRIES: readonly string[] = ["programs", "agtpd-worker"];
/** The name that replaces `import`, which scripts do not have; each file gets it as an argument. */
export const IMPORT: string = "importHere";

/** The beginning of each file, a function like CommonJS's with one more argument. */
export const OPENING: string = `(function (exports, require, module, __filename, ${IMPORT}) {`;
export const CLOSING: string = "\n})";
type Run = (
  exports: object,
  require: (id: string) => unknown,
  module: Loaded,
  filename: string,
  importHere: (specifier: string) => Promise<unknown>,
) => void;

/** An executed file, as CommonJS sees it. */
interface Loaded {
  exports: object;
  /** The script, from which bytecode is kept. */
  readonly script: Script;
}

/** Executed files by path. */
const loaded = new Map<string, Loaded>();
const requireOther = createRequire(FOLDER);

/** Runs a file of the bundle and returns its exports. */
export function loadBundled(name: string): object {
  return requireFile(`./${name}.cjs`) as object;
}

/** The files executed so far. */
export function loadedScripts(): ReadonlyMap<string, Script> {
  return new Map([...loaded].map(([path, { script }]) => [path, script]));
}

/** The path of a file's bytecode; a missing one is treated like one that does not fit. */
export function bytecodeOf(path: string): string {
  return `${path}.bytecode`;
}

function requireFile(id: string): unknown {
  if (!id.startsWith("./")) return requireOther(id);
  const name = id.slice("./".length);
  const path = FOLDER + name;
  const known = loaded.get(path);
  if (known !== undefined) return known.exports;
  const module: Loaded = { exports: {}, script: compileFile(path, name) };
  loaded.set(path, module);
  // Registered in Node's own cache, too.
  requireOther.cache[path] = module as unknown as NodeJS.Module;
  const run = module.script.runInThisContext() as Run;
  run(module.exports, requireFile, module, path, (specifier) => import(specifier));
  return module.exports;
}

function compileFile(path: string, name: string): Script {
  // The build writes ASCII only, so nothing is decoded, and V8 reads the buffer in place.
  const source = readInPlace(path).toString("latin1");
  const cachedData = readIfThere(bytecodeOf(path));
  return new Script(source, {
    // Independent of the installation path, because bytecode is bound to the name, which stack traces show.
    filename: `agtpd:${name}`,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readInPlace(path);
  } catch {
    return undefined;
  }
}

/** Larger than any of the files. */
const PLACE_OCTETS = 2 ** 21;
let place: Buffer | undefined;

/**
 * Reads a file into a shared buffer, valid until the next read: its content has been used by then.
 * Separate buffers would be 1,400 more pages to fault in, a tenth of those of a start.
 */
function readInPlace(path: string): Buffer {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const octets = placeOf(size);
    let length = 0;
    for (let read = -1; read !== 0 && length < size; length += read) {
      read = readSync(file, octets, length, size - length, null);
    }
    return octets.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

/** The shared buffer, released once the current loading is done. */
function placeOf(size: number): Buffer {
  if (place !== undefined && place.length >= size) return place;
  place = Buffer.allocUnsafeSlow(Math.max(size, PLACE_OCTETS));
  setImmediate(() => {
    place = undefined;
  });
  return place;
}
