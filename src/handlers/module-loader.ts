/**
 * Loads the functions that endpoints name. Every loader has a generation of its own, so a reload's
 * loader sees the current files. A fault in a module is a problem of the endpoint that names
 * it.   AGTP-API §12.2
 */
import { randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import { createRequire, register } from "node:module";
import { sep } from "node:path";
import { pathToFileURL } from "node:url";
import { describeFileError, readBoundedFile } from "../base/bounded-file.ts";
import { suggest } from "../base/close-matches.ts";
import type { JsonRecord } from "../base/json-value.ts";
import { isWithin, relativePath } from "../base/paths.ts";
import type { Problem } from "../base/problem.ts";
import type { Handler } from "./handler.ts";
import type { ModuleEnds, OnClose } from "./module-ends.ts";
import { describeImportFault, findModuleFile, parseFunctionReference } from "./module-file.ts";
import type { CallProcess } from "./processes/process-call.ts";

interface ReferencePlace {
  readonly file: string;
  readonly key: string;
}

/** A handler, or the problems that prevent it. */
interface LoadedFunction {
  readonly handler?: Handler;
  /** The parameters that a process declares for its function. */
  readonly signature?: JsonRecord | undefined;
  /** Set for a function of a process: calls it with raw parameters. */
  readonly call?: CallProcess | undefined;
  readonly problems: readonly Problem[];
}

/** Resolves dotted references to handlers. */
export interface ModuleLoader {
  load(reference: string, place: ReferencePlace): Promise<LoadedFunction>;
}

/** The options of a loader. */
interface ModuleLoaderOptions {
  /** Absolute path of `[handlers] root`. */
  readonly root: string;
  /** The longest that a module's top level may take. Default: 30 seconds. */
  readonly importTimeoutMs?: number;
  /** Called with a message once a module has been loading for `afterMs`: a reload waits for it. */
  readonly onSlow?: { readonly afterMs: number; tell(message: string): void };
  /** Collects the modules' close hooks. */
  readonly ends: Pick<ModuleEnds, "add">;
}

type ModuleExports = Readonly<Record<string, unknown>>;

/** The result of a step of loading: a value, or a fault in words. */
type Attempt<T> =
  | { readonly value: T; readonly fault?: undefined }
  | { readonly value?: undefined; readonly fault: string; readonly hint?: string | undefined };

/** Creates a loader for one configuration; a reload creates another. */
export function createModuleLoader(options: ModuleLoaderOptions): ModuleLoader {
  const root = resolveRoot(options.root);
  const { importTimeoutMs: timeoutMs = 30_000, onSlow, ends } = options;
  const generation = randomBytes(6).toString("hex");
  const imports = new Map<string, Promise<Attempt<ModuleExports>>>();
  const handlers = new Map<string, Promise<Attempt<Handler>>>();
  if (root.value !== undefined) forgetRequired(root.value);

  function importOnce(path: string, below: string): Promise<Attempt<ModuleExports>> {
    let imported = imports.get(path);
    if (imported === undefined) {
      imported = importModule(path, { root: below, generation, timeoutMs, onSlow }).then((one) =>
        one.value === undefined ? one : withEnd(one.value, relativePath(below, path), ends),
      );
      imports.set(path, imported);
    }
    return imported;
  }

  async function find(reference: string): Promise<Attempt<Handler>> {
    const parsed = parseFunctionReference(reference);
    if (parsed === undefined) {
      return { fault: `"${reference}" must be identifiers joined by dots: module.function` };
    }
    if (root.value === undefined) return root;
    const file = findModuleFile(root.value, parsed.modulePath);
    if (file.path === undefined) return file;
    const imported = await importOnce(file.path, root.value);
    if (imported.value === undefined) return imported;
    const where = relativePath(root.value, file.path);
    if (parsed.exportName === ON_CLOSE) {
      return {
        fault: `"${ON_CLOSE}" is called when "${where}" is needed no more: it is no handler`,
      };
    }
    return selectExport(imported.value, parsed.exportName, where);
  }

  /** Endpoints that name the same function share its handler. */
  function findOnce(reference: string): Promise<Attempt<Handler>> {
    let found = handlers.get(reference);
    if (found === undefined) {
      found = find(reference);
      handlers.set(reference, found);
    }
    return found;
  }

  return {
    async load(reference, place) {
      const found = await findOnce(reference);
      if (found.value !== undefined) return { handler: found.value, problems: [] };
      return { problems: [{ ...place, message: found.fault, hint: found.hint }] };
    },
  };
}

function resolveRoot(root: string): Attempt<string> {
  try {
    return { value: realpathSync(root) };
  } catch (error) {
    return { fault: `the handlers root "${root}" ${describeFileError(error)}` };
  }
}

/** Evicts the operator's modules from CommonJS's cache, which knows no generations, so that a reload sees changes. */
function forgetRequired(root: string): void {
  const { cache } = createRequire(import.meta.url);
  for (const path of Object.keys(cache)) {
    if (isWithin(root, path) && !path.includes(`${sep}node_modules${sep}`)) {
      delete cache[path];
    }
  }
}

interface ImportContext {
  readonly root: string;
  readonly generation: string;
  readonly timeoutMs: number;
  readonly onSlow: ModuleLoaderOptions["onSlow"];
}

async function importModule(path: string, context: ImportContext): Promise<Attempt<ModuleExports>> {
  process.setSourceMapsEnabled(true);
  if (!isPlainModule(path)) registerModuleHooks();
  const url = `${pathToFileURL(path).href}?agtpd=${context.generation}`;
  const { onSlow } = context;
  const slow = onSlow && setTimeout(() => onSlow.tell(slowWords(path, context)), onSlow.afterMs);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `its top level was not done within ${context.timeoutMs} ms`;
    timer = setTimeout(() => reject(new Error(message)), context.timeoutMs);
  });
  try {
    return { value: (await Promise.race([import(url), late])) as ModuleExports };
  } catch (error) {
    return { fault: describeImportFault(error, path, context.root) };
  } finally {
    clearTimeout(timer);
    clearTimeout(slow);
  }
}

function slowWords(path: string, { root, timeoutMs }: ImportContext): string {
  const where = relativePath(root, path);
  return `the top level of "${where}" is not done yet: it has ${timeoutMs / 1000} s in all`;
}

/** The export that is called when a module's deployment ends. */
const ON_CLOSE = "onClose";

/** Registers a module's close hook. */
function withEnd(
  exports: ModuleExports,
  modulePath: string,
  ends: ModuleLoaderOptions["ends"],
): Attempt<ModuleExports> {
  const holder = holderOf(exports, ON_CLOSE, modulePath);
  if (!Object.hasOwn(holder, ON_CLOSE)) return { value: exports };
  const end = holder[ON_CLOSE];
  const kind = kindOf(end);
  if (kind !== "function") return notFunction(ON_CLOSE, modulePath, kind);
  ends.add(end as OnClose, modulePath);
  return { value: exports };
}

function notFunction(name: string, modulePath: string, kind: string): { readonly fault: string } {
  return { fault: `export "${name}" of "${modulePath}" must be a function, is ${kind}` };
}

/** Node detects only some named exports of a CommonJS module; its `module.exports` has all. */
function holderOf(exports: ModuleExports, name: string, modulePath: string): ModuleExports {
  if (Object.hasOwn(exports, name)) return exports;
  const whole = exports["default"];
  const isObject = typeof whole === "object" && whole !== null;
  return modulePath.endsWith(".js") && isObject ? (whole as ModuleExports) : exports;
}

function selectExport(exports: ModuleExports, name: string, modulePath: string): Attempt<Handler> {
  const holder = holderOf(exports, name, modulePath);
  if (!Object.hasOwn(holder, name)) {
    const functions = Object.keys(holder).filter(
      (key) => key !== ON_CLOSE && typeof holder[key] === "function",
    );
    const fault = `module "${modulePath}" has no export "${name}"`;
    return { fault, hint: suggest(name, functions) ?? describeExports(name, functions) };
  }
  const value = holder[name];
  // The dispatcher checks the function's result.   AGTP-API §12.2
  const kind = kindOf(value);
  return kind === "function" ? { value: value as Handler } : notFunction(name, modulePath, kind);
}

/** Why: classes and generator functions are functions too, but calling one throws, or returns no result. */
function kindOf(value: unknown): string {
  if (typeof value !== "function") return value === null ? "null" : typeof value;
  if (/^class\b/.test(Function.prototype.toString.call(value))) return "a class";
  const isGenerator = Object.prototype.toString.call(value).endsWith("GeneratorFunction]");
  return isGenerator ? "a generator function" : "function";
}

function describeExports(name: string, functions: readonly string[]): string {
  const shown = functions.slice(0, 8).join(", ");
  const found = functions.length === 0 ? "it exports no function" : `it exports ${shown}`;
  // `default` is a reserved word, so no constant has that name.
  const declared = name === "default" ? "default" : `const ${name} =`;
  return `${found}; a handler is: export ${declared} (call) => ({ body: {} })`;
}

let isRegistered = false;

/** Registers the hooks for `?agtpd=…` modules, once a process. */
function registerModuleHooks(): void {
  // Node keeps one chain of hooks a process, and cannot remove a hook.
  if (isRegistered) return;
  isRegistered = true;
  // A daemon that runs from its TypeScript source already has a loader for TypeScript.
  if (import.meta.url.endsWith(".ts")) return;
  // Node 26 warns of hooks on their own thread; on this thread, transpiling would block every caller.
  const { noDeprecation } = process;
  process.noDeprecation = true;
  register("./module-hooks.js", import.meta.url);
  process.noDeprecation = noDeprecation ?? false;
}

/** The largest file whose imports are searched, in octets. */
const MAX_BYTES = 256 * 1024;
/** An import of one of Node's own modules or of a package, which have neither generations nor TypeScript. */
const IMPORT_OF_OTHERS = /\bimport\b[\w\s{},*$]*\bfrom\s*["'](?!agtpd\b|file:)[@\w][\w@/.:-]*["']/g;
/** Comments at the beginning of a line; one that might be the text of a template literal is left. */
const COMMENTS = /^[ \t]*(?:\/\*[^`$]*?\*\/|\/\/[^`$\n]*$)/gm;

/**
 * Returns true if Node can load a handler module by itself: JavaScript that imports only Node's own
 * modules and packages. Others need the hooks of `module-hooks.ts`, whose thread adds some 100 ms
 * to a start and a round trip to every later import.   AGTP-API §12.2
 */
export function isPlainModule(path: string): boolean {
  if (!/\.m?js$/.test(path)) return false;
  const { text } = readBoundedFile(path, MAX_BYTES);
  if (text === undefined) return false;
  const code = text.replaceAll(COMMENTS, "").replaceAll(IMPORT_OF_OTHERS, "");
  return !/\b(?:import|from)\b/.test(code);
}

export type FoundFunction =
  | {
      readonly handler: Handler;
      readonly call: CallProcess;
      readonly signature?: JsonRecord | undefined;
    }
  | {
      readonly handler?: undefined;
      readonly call?: undefined;
      readonly fault: string;
      readonly hint?: string | undefined;
    };

export interface ProcessFunctions {
  readonly names: readonly string[];
  find(process: string, name: string): FoundFunction;
}

/** The functions of a deployment without processes. */
export const NO_PROCESSES: ProcessFunctions = {
  names: [],
  find: (process) => ({ fault: `there is no process "${process}"` }),
};

const REFERENCE = /^([^:]*):(.*)$/s;

/**
 * Resolves `NAME:FUNCTION` to a process's function if a process has that name. A deployment without
 * processes loads no code for them.
 */
export function withProcesses(modules: ModuleLoader, processes: ProcessFunctions): ModuleLoader {
  return {
    async load(reference, place) {
      const [, process, name] = REFERENCE.exec(reference) ?? [];
      if (process === undefined || name === undefined) return modules.load(reference, place);
      if (!processes.names.includes(process)) {
        return { problems: [unknownProcess(process, place, processes.names)] };
      }
      const found = processes.find(process, name);
      if (found.handler !== undefined) return { ...found, problems: [] };
      const { fault: message, hint } = found;
      return { problems: [{ ...place, message, hint }] };
    },
  };
}

function unknownProcess(process: string, place: ReferencePlace, names: readonly string[]): Problem {
  const message = `no [[processes]] has the name "${process}"`;
  const hint = suggest(process, names);
  return { ...place, message, hint };
}
