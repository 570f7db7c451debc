/**
 * Loads the daemon's file with the bytecode that the build kept of it: a start compiles none of it again, which
 * takes a fifth of its time, and neither does its first second. Bytecode of another Node or of other flags is
 * not used.
 */
import { readFileSync } from "node:fs";
import { createRequire, Module } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";

const FILE = fileURLToPath(new URL("../daemon/daemon.cjs", import.meta.url));
/** Beside the file; an absent one is like one that does not fit. */
export const BYTECODE: string = `${FILE}.bytecode`;
/** A script of its own has no `import`: the build lets the file ask for this one by that name. */
export const IMPORT: string = "importHere";

/** The daemon's file as a function, of CommonJS's own names and the one above. */
type Run = (
  exports: unknown,
  require: NodeJS.Require,
  module: Module,
  filename: string,
  directory: string,
  importHere: (specifier: string) => Promise<unknown>,
) => void;

/** Runs an entry of the bundle and returns its exports, and the script, for whoever keeps its bytecode. */
export function loadDaemon(entry: string): { readonly exports: unknown; readonly script: Script } {
  const require = createRequire(FILE);
  const script = compileFile();
  const module = new Module(FILE);
  require.cache[FILE] = module;
  const run = script.runInThisContext() as Run;
  run(module.exports, require, module, FILE, dirname(FILE), (specifier) => import(specifier));
  module.loaded = true;
  return { exports: require(`./${entry}.cjs`), script };
}

function compileFile(): Script {
  const cachedData = readIfThere(BYTECODE);
  return new Script(
    `(function (exports, require, module, __filename, __dirname, ${IMPORT}) {${readFileSync(FILE, "utf8")}\n})`,
    { filename: FILE, ...(cachedData === undefined ? {} : { cachedData }) },
  );
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
