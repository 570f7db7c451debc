/** Tests of what the build made: each module of `src` and `tools` that they import is the one in `dist`. */
import { existsSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import type { ViteUserConfig } from "vitest/config";

type Plugin = NonNullable<ViteUserConfig["plugins"]>[number];

const ROOT = resolve(import.meta.dirname, "../..");
const SOURCES = [resolve(ROOT, "src"), resolve(ROOT, "tools")];

/** Node loads them as they are: to transform a thousand sources for each worker takes longer than many tests. */
export const BUILT: RegExp = /\/dist\/(src|tools)\//;

/** Leads imports of sources to the modules that were built of them. */
export function builtModules(): Plugin {
  return {
    name: "built-modules",
    enforce: "pre",
    resolveId(specifier, importer) {
      if (importer === undefined || !/^\.{1,2}\/.*\.ts$/.test(specifier)) return undefined;
      const path = resolve(dirname(importer), specifier);
      if (!SOURCES.some((folder) => path.startsWith(folder + sep))) return undefined;
      const built = resolve(ROOT, "dist", path.slice(ROOT.length + 1)).replace(/\.ts$/, ".js");
      if (!existsSync(built)) throw new Error(`${built} is not built: npm run build`);
      return built;
    },
  };
}
