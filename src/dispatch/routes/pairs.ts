/** The (method, path) pairs that are the protocol's own. */

import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import { RESERVED_NAMES } from "../../catalog/path-grammar.ts";
import { LIFECYCLE_METHODS } from "../../state/registers/lifecycle.ts";

/** An agent's own path, and the methods that the protocol has there. */
const AGENT_PATH = /^\/agents\/[^/]+(?:\/status)?$/;
const AGENT_METHODS: readonly string[] = ["DESCRIBE", "FETCH", "QUERY", ...LIFECYCLE_METHODS];

/** The methods of "/": the floor, and RESUME as the other half of SUSPEND. */
const ROOT_METHODS: readonly string[] = [...FLOOR_METHODS, "RESUME"];

/** Tells whether a pair is the protocol's own: a method on "/", a built-in, or an agent's path. */
export function isProtocolPair(method: string, path: string): boolean {
  if (path === "/") return ROOT_METHODS.includes(method);
  if (AGENT_PATH.test(path)) return AGENT_METHODS.includes(method);
  return method === "DISCOVER" && RESERVED_NAMES.includes(path.slice(1));
}

export { canonicalPair } from "../policy/method-policy.ts";
