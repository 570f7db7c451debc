/**
 * The values that the text of a case names: what the server's manifest says, which endpoints of it
 * are suited to be tried, who asks, and what earlier answers brought. A name is a path of members,
 * `{{manifest.catalog_version}}`.
 */
import { valueAt } from "../../base/json-value.ts";

/** The values of names in a case, for as long as the case runs. */
export interface Bindings {
  /** Undefined: nothing is bound to this name. */
  get(name: string): unknown;
  /** Keeps what an answer brought; a later one of that name takes its place. */
  set(name: string, value: unknown): void;
}

/** `{{name}}`, its name first. */
export const VARIABLE: RegExp = /\{\{([a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+)*)\}\}/g;

/** Binds these values; what is set later does not reach them. A function makes a new one each time. */
export function createBindings(values: Readonly<Record<string, unknown>> = {}): Bindings {
  const bound = new Map(Object.entries(values));
  return {
    get(name) {
      const [first = "", ...members] = name.split(".");
      const value = bound.get(first);
      return valueAt(typeof value === "function" ? value() : value, members);
    },
    set: (name, value) => void bound.set(name, value),
  };
}
