/** Tells which clients can ask their users: by each request of 2026-07-28, by the session of the older one. */
import type { Server, ServerContext } from "@modelcontextprotocol/server";
import { isRecord, type JsonRecord, recordIn } from "../../base/json-value.ts";

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** By a form; one that knows elicitation and names no mode does. */
export function canElicit(
  server: Pick<Server, "getClientCapabilities">,
  { mcpReq }: Pick<ServerContext, "mcpReq">,
): boolean {
  const envelope: unknown = mcpReq.envelope;
  const declared: unknown = isRecord(envelope)
    ? envelope[CAPABILITIES]
    : server.getClientCapabilities();
  return knowsForms(declared);
}

/** Tells by an envelope of the current protocol whether the client can ask its user. */
export function canElicitBy(envelope: JsonRecord): boolean {
  return knowsForms(envelope[CAPABILITIES]);
}

/** Tells by declared capabilities whether the client can ask its user. */
export function knowsForms(declared: unknown): boolean {
  const elicitation = recordIn(declared)["elicitation"];
  if (!isRecord(elicitation)) return false;
  return isRecord(elicitation["form"]) || Object.keys(elicitation).length === 0;
}
