/**
 * Which paths belong to which face: a prefix, and everything below it. A face that claims what it
 * cannot have is a fault of whoever wrote it, and throws.
 */
import type { GatewayFace } from "./face.ts";

const PREFIX = /^(?:\/[A-Za-z0-9._~-]+)+$/;

/** Whether the path of a request target is some face's; `reserved` is the sidecar's own. */
export function claimsOf(
  faces: readonly GatewayFace[],
  reserved: string,
): (target: string) => boolean {
  const prefixes: string[] = [];
  for (const { name, mounts } of faces) {
    for (const { prefix } of mounts) {
      const fault = PREFIX.test(prefix) ? undefined : "is no path prefix";
      const taken = [...prefixes, reserved].find(
        (one) => within(one, prefix) || within(prefix, one),
      );
      const reason = fault ?? (taken === undefined ? undefined : `overlaps with "${taken}"`);
      if (reason !== undefined) throw new Error(`"${prefix}" of the face ${name} ${reason}`);
      prefixes.push(prefix);
    }
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
