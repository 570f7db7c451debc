/**
 * Loads the files of the bundle with the bytecode that the build kept of them: a start compiles none of them
 * again, which takes a third of a daemon's time, and neither does its first second. Bytecode of another Node
 * or of other flags is not used.
 */
import { Buffer } from "node:buffer";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";

export const FOLDER: string = fileURLToPath(new URL("../bundle/", import.meta.url));
/** The files that are loaded from outside; the others are run as these need them. */
export const ENTRIES: readonly string[] = ["programs", "agtpd-worker"];
/** A script of its own has no `import`: the build lets each file ask for this one by that name. */
export const IMPORT: string = "importHere";

/** Each file is a function: CommonJS's own, and the one above. */
export const OPENING: string = `(function (exports, require, module, __filename, ${IMPORT}) {`;
export const CLOSING: string = "\n})";
type Run = (
  exports: object,
  require: (id: string) => unknown,
  module: Loaded,
  filename: string,
  importHere: (specifier: string) => Promise<unknown>,
) => void;

/** A file that was run, as CommonJS sees it. */
interface Loaded {
  exports: object;
  /** For whoever keeps its bytecode. */
  readonly script: Script;
}

/** By the path of its file. */
const loaded = new Map<string, Loaded>();
const requireOther = createRequire(FOLDER);

/** Runs a file of the bundle, by its name, and returns its exports. */
export function loadBundled(name: string): object {
  return requireFile(`./${name}.cjs`) as object;
}

/** The files that were run until now. */
export function loadedScripts(): ReadonlyMap<string, Script> {
  return new Map([...loaded].map(([path, { script }]) => [path, script]));
}

/** Beside its file; an absent one is like one that does not fit. */
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
  // Node's own list of loaded files has these, too.
  requireOther.cache[path] = module as unknown as NodeJS.Module;
  const run = module.script.runInThisContext() as Run;
  run(module.exports, requireFile, module, path, (specifier) => import(specifier));
  return module.exports;
}

function compileFile(path: string, name: string): Script {
  // The build writes ASCII alone: nothing is decoded, and V8 reads it where it is.
  const source = readInPlace(path).toString("latin1");
  const cachedData = readIfThere(bytecodeOf(path));
  return new Script(source, {
    // Traces have the name that bytecode was made under, so it is the same wherever the files were moved to.
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

/** Larger than every file. */
const PLACE_OCTETS = 2 ** 21;
let place: Buffer | undefined;

/**
 * The octets of a file, until the next one is read: each has had what it needs of them by then. Places of their
 * own would be 1,400 more pages for the system to find, a tenth of all in a start.
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

/** The place goes when what is loaded together was. */
function placeOf(size: number): Buffer {
  if (place !== undefined && place.length >= size) return place;
  place = Buffer.allocUnsafeSlow(Math.max(size, PLACE_OCTETS));
  setImmediate(() => {
    place = undefined;
  });
  return place;
}
