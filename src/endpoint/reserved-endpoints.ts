/**
 * Pairs that belong to the protocol: the given methods at the root path, and DISCOVER below the
 * reserved names. Beginning like a reserved name is enough.   AGTP-API §5.9, §6.1
 */
import { RESERVED_NAMES } from "../catalog/reserved-names.ts";

/** Why the pair is reserved, if it is; on "/" these methods are. */
export function checkReservation(
  method: string,
  path: string,
  rootMethods: readonly string[],
): string | undefined {
  if (path === "/" && rootMethods.includes(method)) {
    return `"/" under ${method} belongs to the protocol`;
  }
  if (method !== "DISCOVER") return undefined;
  const [first = ""] = path.slice(1).split("/");
  const reserved = RESERVED_NAMES.find((name) => first.startsWith(name));
  if (reserved !== undefined) {
    return `${JSON.stringify(path)} is reserved under DISCOVER: it begins like "/${reserved}"`;
  }
  if (!first.startsWith("{")) return undefined;
  return `${JSON.stringify(path)} could stand for a reserved name under DISCOVER`;
}
