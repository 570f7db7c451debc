/**
 * The tools of this server: every endpoint of the operator, and every agent that can be executed,
 * under a name that MCP takes. A name is made of method and path, so it stays what it is as long as
 * the endpoint does.   AGTP-API §5.8.4
 */
import { hash } from "node:crypto";
import { atOnce, mapPaced, type Paced } from "../base/paced.ts";
import type { EndpointDefinition } from "../endpoint/endpoint.ts";

/** An endpoint as a tool. */
export interface Tool {
  readonly name: string;
  readonly definition: EndpointDefinition;
}

/** An endpoint, and whose it is. */
export interface ListedDefinition {
  readonly tier: "A" | "B";
  readonly definition: EndpointDefinition;
}

/** Clients of MCP take no longer names. */
const MAX_NAME = 64;
const HASH_LENGTH = 8;

/** The tools among the endpoints, in their order. */
export function listTools(endpoints: readonly ListedDefinition[]): readonly Tool[] {
  return atOnce(listingTools(endpoints));
}

/** The same, an endpoint a step. */
export function* listingTools(endpoints: readonly ListedDefinition[]): Paced<readonly Tool[]> {
  const definitions = endpoints.filter(isTool).map(({ definition }) => definition);
  const names = yield* mapPaced(definitions, plainName);
  const counts = new Map<string, number>();
  for (const name of names) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    yield;
  }
  return yield* mapPaced(definitions.entries(), ([index, definition]) => {
    const plain = names[index] ?? "";
    const isUsable = counts.get(plain) === 1 && plain.length <= MAX_NAME;
    return { name: isUsable ? plain : hashedName(plain, definition), definition };
  });
}

/** The protocol's own endpoints are no tools, except those that execute an agent. */
function isTool({ tier, definition: { method, path } }: ListedDefinition): boolean {
  return tier === "B" || (method === "EXECUTE" && path !== "/");
}

/** `BOOK /rooms/{room_type}` is `book_rooms_room_type`. */
function plainName({ method, path }: EndpointDefinition): string {
  const words = path.split(/[^A-Za-z0-9-]+/).filter((word) => word !== "");
  return [method.toLowerCase(), ...words].join("_");
}

/** Two endpoints of one name are told apart, neither being the first. */
function hashedName(plain: string, { method, path }: EndpointDefinition): string {
  const mark = hash("sha256", `${method} ${path}`).slice(0, HASH_LENGTH);
  return `${plain.slice(0, MAX_NAME - HASH_LENGTH - 1)}_${mark}`;
}

/** As DISCOVER /tools shows it: in MCP's own shape, with what EXECUTE takes beside it. */
export function toolEntry({ name, definition }: Tool): Readonly<Record<string, unknown>> {
  const { method, path, description, inputSchema, requiredScopes, semantic } = definition;
  return {
    name,
    description,
    inputSchema,
    annotations: {
      readOnlyHint: semantic.impact === "informational",
      destructiveHint: semantic.impact === "irreversible",
      idempotentHint: semantic.is_idempotent,
    },
    action: `${method} ${path}`,
    method,
    path,
    required_scopes: requiredScopes,
  };
}
