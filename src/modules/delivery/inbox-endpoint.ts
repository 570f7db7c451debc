/**
 * QUERY /inbox: what an agent was sent, the newest first, page by page. Reading changes nothing: what
 * its agent has not confirmed is unread. 262 and 401 for who has no inbox here.   AGTP "NOTIFY", "QUERY"
 */

import { floorResult } from "../../dispatch/floor-result.ts";
import type { ProtocolEndpoint } from "../../dispatch/protocol-endpoint.ts";
import { agentUnauthenticated, authorizationRequired } from "../../dispatch/refusals/refusal.ts";
import type { RouteHandler } from "../../dispatch/route.ts";
import { isRead } from "./inbox.ts";
import type { NotificationRegister } from "./notification-register.ts";
import { readInboxEntry } from "./notification-sources.ts";

const USUAL_LIMIT = 20;
const MAX_LIMIT = 100;

/** The endpoint of every agent's own inbox. */
export function inboxEndpoint(register: NotificationRegister): ProtocolEndpoint {
  return {
    method: "QUERY",
    path: "/inbox",
    description: "Returns the notifications in the calling agent's own inbox, the newest first.",
    capability: "retrieval",
    impact: "informational",
    isReading: true,
    inputSchema: {
      type: "object",
      properties: {
        status: { enum: ["unread", "all"] },
        limit: { type: "integer", minimum: 1, maximum: MAX_LIMIT },
        after: { type: "string", maxLength: 64 },
      },
    },
    isListed: false,
    handler: inboxHandler(register),
  };
}

function inboxHandler(register: NotificationRegister): RouteHandler {
  return async (call, { caller: { agentId, document } }) => {
    if (agentId === undefined) {
      return authorizationRequired("credentials-missing", "an inbox needs an Agent-ID");
    }
    if (document === undefined) {
      return agentUnauthenticated("only agents that this server knows have an inbox");
    }
    const { status = "unread", limit = USUAL_LIMIT, after } = call.input;
    const all = register.inboxOf(agentId);
    const shown = all.filter(
      (entry) =>
        (status === "all" || !isRead(entry)) &&
        (typeof after !== "string" || entry.notification.serial < after),
    );
    const page = shown.slice(0, Number(limit));
    const entries = await Promise.all(page.map((entry) => readInboxEntry(register, entry)));
    const last = page.at(-1)?.notification.serial;
    return floorResult(call, {
      entries: entries.filter((entry) => entry !== undefined),
      unread: all.filter((entry) => !isRead(entry)).length,
      // Older than the last one shown, where there are any.
      next: shown.length > page.length ? last : null,
    });
  };
}
