/**
 * A small inn for tests of SUMMARIZE and PLAN: guests are found, rooms are booked for them, reviews
 * are read and deleted, and one agent may do less than the other.
 */
import type { RawClient } from "./daemon.ts";
import {
  agentFile,
  configFile,
  type DeploymentFiles,
  type EndpointOptions,
  endpointFile,
} from "./deployment.ts";
import { encodeRequest, type TestReply, type TestRequest } from "./dispatch.ts";

/** May do everything. */
export const INA: string = "1a".repeat(32);
/** May read. */
export const REX: string = "2b".repeat(32);

const HANDLERS = `
let deleted = 0;
export const guest = ({ input }) => ({
  body: { guest_id: "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42", guest_name: input.guest_name },
});
export const room = ({ input }) => ({ body: { room_id: 12, room_type: input.room_type } });
export const book = ({ input }) =>
  input.nights > 30
    ? { error: "too_long" }
    : { body: { reservation_id: "r-" + input.room_id + "-" + input.nights } };
export const reviews = ({ input }) => ({
  body: {
    subject: input.subject,
    review: "The inn is old. The rooms of the inn are quiet. Breakfast was late. " +
      "The inn has friendly hosts. I lost my umbrella. The rooms have thick walls.",
  },
});
export const remove = () => ({ body: { deleted: (deleted += 1) } });
export const count = () => ({ body: { deleted } });
export const note = ({ input }) => ({ body: { note: input.note } });
export const nothing = () => ({ status: 204 });
export const endless = () => {
  const body = { name: "endless" };
  body.self = body;
  return { body };
};
export const relay = async ({ dispatch }) => {
  const source = { name: "endless" };
  source.self = source;
  const { status } = await dispatch("SUMMARIZE", "/", { source });
  return { body: { status } };
};
`;

/** Reads a subject's reviews, then summarizes them: the recipe of AGTP-API §12.1. */
const RECIPES = `
[[recipe]]
name = "audit-via-query-and-summarize"
version = "3"
description = "Audit a subject: read its reviews, then summarize them."
[recipe.pattern]
method_exact = "AUDIT"
path_exact = "/subjects"
has_parameters = ["subject"]
[[recipe.steps]]
method = "QUERY"
path = "/reviews/{subject}"
capture_as = "facts"
[recipe.steps.parameters.subject]
kind = "proposal"
value = "subject"
[[recipe.steps]]
method = "SUMMARIZE"
[recipe.steps.parameters.source]
kind = "previous_step"
value = "facts"
[recipe.steps.parameters.length]
kind = "proposal"
value = "length"
[recipe.aggregation]
mode = "merge"
`;

const TEXT = { type: "string" };
const READING = { capability: "retrieval", impact: "informational", is_idempotent: true };
const BOOKING = { capability: "transaction", impact: "irreversible", is_idempotent: false };

interface Words extends EndpointOptions {
  readonly function: string;
  readonly intent: string;
  readonly gives?: Readonly<Record<string, object>>;
}

function endpoint({ function: name, intent, gives = {}, ...options }: Words, kind: object): string {
  const semantic = { intent, actor: "agent", outcome: "It is done.", confidence: 0.9, ...kind };
  return endpointFile({
    output_schema: { type: "object", required: Object.keys(gives), properties: gives },
    handler: { type: "registered_function", function: `handlers.${name}` },
    ...{ description: intent, semantic },
    ...options,
  });
}

/** The files of the inn, under a configuration. */
export function innFiles(tables: Readonly<Record<string, object>> = {}): DeploymentFiles {
  const uuid = { type: "string", format: "uuid" };
  const scopes = ["guests:read", "rooms:read", "rooms:book", "reviews:delete"];
  return {
    "agtp-server.toml": configFile(tables),
    "handlers.mjs": HANDLERS,
    "recipes/audit.toml": RECIPES,
    "agents/ina.agent.json": agentFile({ agent_id: INA, name: "ina", scopes_accepted: scopes }),
    "agents/rex.agent.json": agentFile({
      agent_id: REX,
      name: "rex",
      scopes_accepted: ["rooms:read"],
    }),
    "endpoints/guest.toml": endpoint(
      {
        ...{ method: "QUERY", path: "/guests", function: "guest", intent: "Look up a guest." },
        ...{ properties: { guest_name: TEXT }, required: ["guest_name"] },
        required_scopes: ["guests:read"],
        gives: { guest_id: uuid, guest_name: TEXT },
      },
      READING,
    ),
    "endpoints/room.toml": endpoint(
      {
        ...{ method: "QUERY", path: "/rooms", function: "room", intent: "Offer a free room." },
        properties: { room_type: { enum: ["single", "double"] } },
        required: ["room_type"],
        required_scopes: ["rooms:read"],
        gives: { room_id: { type: "integer" }, room_type: TEXT },
      },
      READING,
    ),
    "endpoints/book.toml": endpoint(
      {
        ...{ method: "BOOK", path: "/rooms/{room_id}", function: "book" },
        intent: "Book a room for a guest.",
        properties: {
          room_id: { type: "integer" },
          guest_id: uuid,
          nights: { type: "integer", minimum: 1 },
        },
        required: ["room_id", "guest_id", "nights"],
        required_scopes: ["rooms:book"],
        errors: ["too_long"],
        gives: { reservation_id: TEXT },
      },
      BOOKING,
    ),
    "endpoints/reviews.toml": endpoint(
      {
        ...{ method: "QUERY", path: "/reviews/{subject}", function: "reviews" },
        intent: "Read what guests say about a subject.",
        ...{ properties: { subject: TEXT }, required: ["subject"] },
        gives: { subject: TEXT, review: TEXT },
      },
      READING,
    ),
    "endpoints/delete.toml": endpoint(
      {
        ...{ method: "REMOVE", path: "/reviews/{subject}", function: "remove" },
        intent: "Delete the reviews of a subject.",
        ...{ properties: { subject: TEXT }, required: ["subject"] },
        required_scopes: ["reviews:delete"],
        gives: { deleted: { type: "integer" } },
      },
      BOOKING,
    ),
    "endpoints/count.toml": endpoint(
      { method: "QUERY", path: "/deletions", function: "count", intent: "Count what was deleted." },
      READING,
    ),
    "endpoints/note.toml": endpoint(
      {
        ...{ method: "QUERY", path: "/notes", function: "note", intent: "Repeat a note." },
        ...{ properties: { note: { type: "object" } }, required: ["note"] },
        gives: { note: { type: "object" } },
      },
      READING,
    ),
    "endpoints/nothing.toml": endpoint(
      { method: "QUERY", path: "/silences", function: "nothing", intent: "Say nothing." },
      READING,
    ),
    "endpoints/endless.toml": endpoint(
      { method: "QUERY", path: "/circles", function: "endless", intent: "Go round." },
      READING,
    ),
    "endpoints/relay.toml": endpoint(
      { method: "QUERY", path: "/relays", function: "relay", intent: "Summarize a circle." },
      READING,
    ),
    "endpoints/audit.toml": endpoint(
      {
        ...{ method: "AUDIT", path: "/inns/{subject}", function: "" },
        intent: "Audit an inn.",
        properties: { subject: TEXT, length: TEXT },
        required: ["subject"],
        errors: ["composition_failed"],
        handler: { type: "composition", recipe: "audit-via-query-and-summarize" },
        gives: { summary: TEXT, source_hash: TEXT },
      },
      READING,
    ),
  };
}

/** One request after the other, on one connection. */
export function caller(
  client: RawClient,
  agentId: string | undefined,
): (request: TestRequest) => Promise<TestReply> {
  const identity: Record<string, string> = agentId === undefined ? {} : { "Agent-ID": agentId };
  return async (request) => {
    const before = (await client.replies(0)).length;
    client.write(encodeRequest({ ...request, headers: { ...identity, ...request.headers } }));
    const reply = (await client.replies(before + 1))[before];
    if (reply === undefined) throw new Error("the connection was closed");
    return reply;
  };
}
