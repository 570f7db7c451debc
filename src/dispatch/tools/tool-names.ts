/**
 * Tool names that MCP clients accept: the endpoint's own, or one derived from method and path. A
 * derived name is as short as uniqueness permits.   AGTP-API §5.8.4, MCP "Tool Names"
 */
import { hash } from "node:crypto";
import { mapPaced, type Paced } from "../../base/paced.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";

/** The maximum length that MCP clients accept. */
const MAX_NAME = 64;
const DIGEST_LENGTH = 8;
const PARAMETER = /^\{([^{}/]+)\}$/;

type Named = Pick<EndpointDefinition, "method" | "path" | "tool">;
type Form = (definition: Named) => string;

/** The forms of a name, each more specific than the one before; the last one is always unique. */
const FORMS: readonly Form[] = [plainName, nameWithParameters, nameWithDigest];

/** Names endpoints, in their order; no name is among those of `others`. */
export function* namingTools(
  definitions: readonly Named[],
  others: Iterable<string> = [],
): Paced<readonly string[]> {
  const names: (string | undefined)[] = yield* mapPaced(definitions, ({ tool }) => tool);
  const taken = new Set<string | undefined>();
  yield* mapPaced(others, (name) => taken.add(name));
  yield* mapPaced(names, (name) => taken.add(name));
  for (const form of FORMS) {
    const derived = yield* mapPaced(definitions.entries(), ([index, definition]) =>
      names[index] === undefined ? bounded(form(definition), definition) : undefined,
    );
    const counts = yield* countsOf(derived);
    for (const [index, name] of derived.entries()) {
      yield;
      if (name === undefined) continue;
      const isAlone = counts.get(name) === 1 && !taken.has(name);
      if (isAlone || form === nameWithDigest) names[index] = name;
    }
    yield* mapPaced(names, (name) => taken.add(name));
  }
  return yield* mapPaced(names, (name = "") => name);
}

/** Names one more endpoint with a free name; existing names stay. */
export function nextToolName(definition: Named, isTaken: (name: string) => boolean): string {
  const names = FORMS.map((form) => bounded(form(definition), definition));
  return names.find((name) => !isTaken(name)) ?? nameWithDigest(definition);
}

function* countsOf(names: readonly (string | undefined)[]): Paced<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const name of names) {
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
    yield;
  }
  return counts;
}

/** Names `BOOK /rooms/{room_type}` `book_rooms`. */
function plainName({ method, path }: Named): string {
  const literals = segmentsOf(path).filter((segment) => !PARAMETER.test(segment));
  return cleaned([method, ...literals].join("_").toLowerCase());
}

/** Names it `book_rooms_by_room_type`; several parameters are joined by `_and_`. */
function nameWithParameters(definition: Named): string {
  const names = segmentsOf(definition.path).flatMap((one) => PARAMETER.exec(one)?.[1] ?? []);
  const plain = plainName(definition);
  return names.length === 0 ? plain : cleaned(`${plain}_by_${names.join("_and_")}`);
}

function nameWithDigest(definition: Named): string {
  return withDigest(nameWithParameters(definition), definition);
}

function bounded(name: string, definition: Named): string {
  return name.length <= MAX_NAME ? name : withDigest(name, definition);
}

function withDigest(name: string, { method, path }: Named): string {
  const digest = hash("sha256", `${method} ${path}`).slice(0, DIGEST_LENGTH);
  return name.endsWith(`_${digest}`)
    ? name
    : `${name.slice(0, MAX_NAME - DIGEST_LENGTH - 1)}_${digest}`;
}

function segmentsOf(path: string): readonly string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function cleaned(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

/**
 * Returns the names that tools had before MCP's rules, in order: the method and every word of the
 * path, with a digest for pairs that share a name. Older plans and callers still use them.
 */
export function* formerToolNames(definitions: Iterable<Named>): Paced<readonly string[]> {
  const counts = new Map<string, number>();
  const named = yield* mapPaced(definitions, (definition) => {
    const plain = formerPlainName(definition);
    counts.set(plain, (counts.get(plain) ?? 0) + 1);
    return { plain, definition };
  });
  return yield* mapPaced(named, ({ plain, definition }) => {
    const isUsable = counts.get(plain) === 1 && plain.length <= MAX_NAME;
    return isUsable ? plain : formerWithDigest(plain, definition);
  });
}

/** Names `BOOK /rooms/{room_type}` `book_rooms_room_type`. */
function formerPlainName({ method, path }: Named): string {
  const words = path.split(/[^A-Za-z0-9-]+/).filter((word) => word !== "");
  return [method.toLowerCase(), ...words].join("_");
}

function formerWithDigest(plain: string, { method, path }: Named): string {
  const mark = hash("sha256", `${method} ${path}`).slice(0, DIGEST_LENGTH);
  return `${plain.slice(0, MAX_NAME - DIGEST_LENGTH - 1)}_${mark}`;
}
