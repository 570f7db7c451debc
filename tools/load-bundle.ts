/**
 * Loads the files of the bundle with the bytecode that the build kept of them: a start compiles none of them
 * again, which takes a third of a daemon's time, and neither does its first second. Bytecode of another Node
 * or of other flags is not used.
 */
import { readFileSync } from "node:fs";
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
  const cachedData = readIfThere(bytecodeOf(path));
  // The build writes ASCII alone: nothing is decoded, and V8 reads it where it is.
  return new Script(readFileSync(path, "latin1"), {
    // Traces have the name that bytecode was made under, so it is the same wherever the files were moved to.
    filename: `agtpd:${name}`,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
