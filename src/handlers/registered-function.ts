/**
 * Registered functions: what a dotted reference names, and how an exported function becomes a
 * handler. The function is the operator's code; the dispatcher judges what it answers.
 * AGTP-API §12.2
 */

import { path, type Schema, table } from "../schema/section-field.ts";
import type { Handler, HandlerResult } from "./handler.ts";

/** `a.b.c`: export `c` of the module `a/b`. */
interface FunctionReference {
  /** Path of the module below the handlers root, without its extension. */
  readonly modulePath: string;
  readonly exportName: string;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const MAX_LENGTH = 512;

/** A reference taken apart, or undefined when it is not identifiers joined by dots. */
export function parseFunctionReference(reference: string): FunctionReference | undefined {
  if (reference.length > MAX_LENGTH) return undefined;
  const parts = reference.split(".");
  const exportName = parts.pop();
  if (exportName === undefined || parts.length === 0) return undefined;
  if (![...parts, exportName].every((part) => IDENTIFIER.test(part))) return undefined;
  return { modulePath: parts.join("/"), exportName };
}

/** A function out of a handler module; what it takes and returns is the operator's word. */
export type ExportedFunction = (call: unknown) => unknown;

/** The handler that calls an exported function. */
export function createRegisteredFunction(exported: ExportedFunction): Handler {
  return (call) => {
    const result = exported(call);
    // Only a native promise is awaited further on; query builders and the like return others.
    return isForeignThenable(result)
      ? Promise.resolve(result)
      : (result as HandlerResult | Promise<HandlerResult>);
  };
}

function isForeignThenable(value: unknown): value is PromiseLike<HandlerResult> {
  return (
    typeof value === "object" &&
    value !== null &&
    !(value instanceof Promise) &&
    "then" in value &&
    typeof value.then === "function"
  );
}

/** `[handlers]` */
export interface HandlersConfig {
  readonly root: string;
}

/** Its schema. */
export const handlersSection: Schema = table("Handler modules", {
  root: path(".", "Dotted handler paths start here; nothing outside is reachable"),
});
