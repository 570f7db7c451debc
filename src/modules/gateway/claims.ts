/**
 * Decides which paths belong to which HTTP route: a prefix, and everything below it. One that
 * claims what it cannot have is a fault of the module that has it, and throws.
 */
import type { HttpRoute } from "../../dispatch/module/http-route.ts";

const PREFIX = /^(?:\/[A-Za-z0-9._~-]+)+$/;

/** Tells whether the path of a request target is some route's; `reserved` is the sidecar's own. */
export function claimsOf(
  routes: readonly HttpRoute[],
  reserved: string,
): (target: string) => boolean {
  const prefixes: string[] = [];
  for (const { prefix, api } of routes) {
    const fault = PREFIX.test(prefix) ? undefined : "is no path prefix";
    const taken = [...prefixes, reserved].find((one) => within(one, prefix) || within(prefix, one));
    const reason = fault ?? (taken === undefined ? undefined : `overlaps with "${taken}"`);
    if (reason !== undefined) throw new Error(`"${prefix}" of the HTTP API ${api.name} ${reason}`);
    prefixes.push(prefix);
  }
  return (target) => {
    const end = target.indexOf("?");
    const path = end === -1 ? target : target.slice(0, end);
    return path === reserved || prefixes.some((prefix) => within(prefix, path));
  };
}

function within(prefix: string, path: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}
