/**
 * Tells which handlers need no place kept for them: keeping places slows every promise of the
 * process down.
 */
import type { Route } from "../../dispatch/route.ts";

const known = new WeakMap<Route, boolean>();

/**
 * True for a function that an endpoint file names, and for a composition: they are called as they
 * are, and what they dispatch is found by its request.
 */
export function staysInside(route: Route): boolean {
  const told = known.get(route);
  if (told !== undefined) return told;
  const isInside = judge(route);
  known.set(route, isInside);
  return isInside;
}

function judge({ definition }: Route): boolean {
  if (definition === undefined) return false;
  const { handler, file } = definition;
  if (handler.type === "composition") return true;
  const isModules = handler.type === "registered_function" && !handler.function.includes(":");
  return isModules && file.endsWith(".toml");
}
