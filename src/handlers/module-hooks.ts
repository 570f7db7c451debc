/**
 * Node's loader hooks for handler modules; Node runs this file on its own thread. They only act on
 * modules with a generation (`?agtpd=…`) and on their imports: such a module may be TypeScript, its
 * relative imports inherit the generation, so that a reload loads them afresh, and `agtpd` means
 * this daemon's own package.   AGTP-API §12.2
 */
import { readFile } from "node:fs/promises";
import type { LoadHook, ResolveHook } from "node:module";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { loadTranspiler, MODULE_EXTENSIONS, type TranspilerFault } from "./transpiler.ts";

const GENERATION = /\?agtpd=\w+$/;
const RELATIVE = /^(?:\.{1,2}\/|file:)/;
const TYPESCRIPT = /\.m?ts$/;

/** Adds the generation, finds `rates.ts` for `./rates.js` and `./rates`, and resolves `agtpd` itself. */
export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  const generation = GENERATION.exec(context.parentURL ?? "")?.[0];
  if (generation === undefined) return nextResolve(specifier, context);
  if (specifier === "agtpd") {
    return { url: new URL("../index.js", import.meta.url).href, shortCircuit: true };
  }
  if (!RELATIVE.test(specifier)) return nextResolve(specifier, context);
  const found = await resolveRelative(specifier, (wanted) => nextResolve(wanted, context));
  const isOurs = found.url.startsWith("file:") && !found.url.includes("/node_modules/");
  return isOurs && !GENERATION.test(found.url) ? { ...found, url: found.url + generation } : found;
};

type Resolved = Awaited<ReturnType<ResolveHook>>;

/** TypeScript imports are often written with the output's extension, or with none. */
async function resolveRelative(
  specifier: string,
  next: (specifier: string) => Resolved | Promise<Resolved>,
): Promise<Resolved> {
  try {
    return await next(specifier);
  } catch (error) {
    for (const guess of guesses(specifier)) {
      try {
        return await next(guess);
      } catch {
        // The error of the specifier as written is the useful one.
      }
    }
    throw error;
  }
}

function guesses(specifier: string): readonly string[] {
  if (/\.m?js$/.test(specifier)) return [`${specifier.slice(0, -2)}ts`];
  if (/\.\w+$/.test(specifier)) return [];
  return MODULE_EXTENSIONS.map((extension) => specifier + extension);
}

/** Transpiles TypeScript to JavaScript with an inline source map; leaves the rest to Node. */
export const load: LoadHook = async (url, context, nextLoad) => {
  if (!GENERATION.test(url)) return nextLoad(url, context);
  const path = fileURLToPath(url);
  if (!TYPESCRIPT.test(path)) return nextLoad(url, context);
  const source = transpile(await readFile(path, "utf8"), path);
  return { format: "module", source, shortCircuit: true };
};

function transpile(source: string, path: string): string {
  const { transformSync } = loadTranspiler();
  try {
    // Why "transform" and not "strip-only": enums work, and so do types imported without `type`.
    const options = { mode: "transform", module: true, sourceMap: true } as const;
    const { code, map = "" } = transformSync(source, { ...options, filename: basename(path) });
    const encoded = Buffer.from(map).toString("base64");
    return `${code}\n//# sourceMappingURL=data:application/json;base64,${encoded}\n`;
  } catch (error) {
    const { message, startLine = 1, startColumn = 0 } = error as TranspilerFault;
    // Only the message of a hook's error reaches the importing thread.
    throw new SyntaxError(`${path}:${startLine}:${startColumn + 1}: ${message}`);
  }
}
