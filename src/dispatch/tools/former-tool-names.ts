/**
 * The names that tools had before they were those of MCP: method and every word of the path, each
 * pair that shares one told apart by a digest. Plans and callers that were made then still use them.
 */
import { hash } from "node:crypto";
import { mapPaced, type Paced } from "../../base/paced.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";

const MAX_NAME = 64;
const DIGEST_LENGTH = 8;

type Named = Pick<EndpointDefinition, "method" | "path">;

/** The former names of some endpoints, in their order. */
export function* formerToolNames(definitions: Iterable<Named>): Paced<readonly string[]> {
  const counts = new Map<string, number>();
  const named = yield* mapPaced(definitions, (definition) => {
    const plain = plainName(definition);
    counts.set(plain, (counts.get(plain) ?? 0) + 1);
    return { plain, definition };
  });
  return yield* mapPaced(named, ({ plain, definition }) => {
    const isUsable = counts.get(plain) === 1 && plain.length <= MAX_NAME;
    return isUsable ? plain : withDigest(plain, definition);
  });
}

/** `BOOK /rooms/{room_type}` was `book_rooms_room_type`. */
function plainName({ method, path }: Named): string {
  const words = path.split(/[^A-Za-z0-9-]+/).filter((word) => word !== "");
  return [method.toLowerCase(), ...words].join("_");
}

function withDigest(plain: string, { method, path }: Named): string {
  const mark = hash("sha256", `${method} ${path}`).slice(0, DIGEST_LENGTH);
  return `${plain.slice(0, MAX_NAME - DIGEST_LENGTH - 1)}_${mark}`;
}
