/**
 * The action that EXECUTE names, as it is written: a pair ("BOOK /rooms", or its two members), or a
 * name: of a tool, of an agent, of a floor method.   AGTP "EXECUTE"
 */

import { isRecord } from "../../base/json-value.ts";
import { FLOOR_METHODS } from "../../catalog/catalog.ts";

/** An action, not looked up yet. */
export type Action =
  | { readonly kind: "pair"; readonly method: string; readonly path: string }
  | { readonly kind: "name"; readonly name: string };

/** Longer ones name nothing. */
const MAX_ACTION_LENGTH = 2048;

const PAIR = /^(\S+)[ \t]+(\/\S*)$/;

/** The action, or what is wrong with it, in words. */
export function readAction(value: unknown): Action | string {
  if (isRecord(value)) return readPair(value["method"], value["path"] ?? "/");
  if (typeof value !== "string") return 'must be an action like "BOOK /rooms", or its name';
  const text = value.trim();
  if (text === "") return "must not be empty";
  if (text.length > MAX_ACTION_LENGTH) {
    return `must be at most ${MAX_ACTION_LENGTH} characters long`;
  }
  const [, method, path] = PAIR.exec(text) ?? [];
  if (method !== undefined && path !== undefined) return { kind: "pair", method, path };
  if ((FLOOR_METHODS as readonly string[]).includes(text)) {
    return { kind: "pair", method: text, path: "/" };
  }
  return { kind: "name", name: text };
}

function readPair(method: unknown, path: unknown): Action | string {
  const isWritten = typeof method === "string" && typeof path === "string";
  if (!isWritten || method === "") return 'must be {"method": "BOOK", "path": "/rooms"}';
  if (method.length + path.length > MAX_ACTION_LENGTH) {
    return `must be at most ${MAX_ACTION_LENGTH} characters long`;
  }
  return { kind: "pair", method, path };
}

/** As it is named in an answer and in a run. */
export function describeAction(action: Action): string {
  return action.kind === "pair" ? `${action.method} ${action.path}` : action.name;
}
