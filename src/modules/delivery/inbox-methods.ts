/**
 * The inbox of an agent. QUERY /inbox: its notifications, newest first, in pages; reading changes nothing. CONFIRM of
 * a notification: accepted or rejected, which marks it read and is visible to its sender, or deferred, which leaves it
 * unread; the last confirmation counts. 262 and 401 for a caller without an inbox here · 422 malformed. AGTP "NOTIFY",
 * "QUERY", "CONFIRM"
 */

import type { Confirmable } from "../../dispatch/approvals/confirmation.ts";
import {
  agentUnauthenticated,
  authorizationRequired,
  type Refusal,
  violationAt,
} from "../../dispatch/refusals/refusal.ts";
import { floorResult } from "../../dispatch/routes/floor.ts";
import type { ProtocolEndpoint } from "../../dispatch/routes/protocol-endpoint.ts";
import type { RouteHandler } from "../../dispatch/routes/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import { type InboxEntry, isRead } from "./inboxes.ts";
import type { Confirmation } from "./notification.ts";
import type { NotificationRegister } from "./notification-register.ts";
import { readInboxEntry } from "./notification-views.ts";

const USUAL_LIMIT = 20;
const MAX_LIMIT = 100;

/** The endpoint by which each agent reads its own inbox. */
export function inboxEndpoint(register: NotificationRegister): ProtocolEndpoint {
  return {
    method: "QUERY",
    path: "/inbox",
    description: "Returns the notifications in the calling agent's own inbox, the newest first.",
    capability: "retrieval",
    impact: "informational",
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
      // The cursor for older entries; null if there are none.
      next: shown.length > page.length ? last : null,
    });
  };
}

/** Confirms notifications in the caller's own inbox. */
export function confirmableNotifications(register: NotificationRegister): Confirmable {
  return {
    async confirm({ targetId: target, status, reason }, { call, exchange }) {
      const { agentId, document } = exchange.caller;
      if (agentId === undefined || document === undefined) return undefined;
      const found = entriesOf(register, target, agentId);
      const [entry, ...others] = found;
      if (entry === undefined) return undefined;
      if (others.length > 0) return ambiguous();
      const { serial } = entry.notification;
      const said = { status, ...(reason === undefined ? {} : { reason }) };
      const confirmation = await register.confirm(serial, agentId, said);
      return answer(call, target, entry.notification.id, confirmation);
    },
  };
}

/** The entry with this delivery_id, or else those with this id of their senders. */
function entriesOf(
  register: NotificationRegister,
  target: string,
  agentId: string,
): readonly InboxEntry[] {
  const entry = register.entryOf(target, agentId);
  if (entry !== undefined && entry.notification.expiresAt > register.now()) return [entry];
  return register.inboxOf(agentId).filter(({ notification }) => notification.id === target);
}

function answer(
  call: Call,
  target: string,
  id: string,
  { attestationId, status, at }: Confirmation,
): HandlerSuccess {
  return floorResult(call, {
    target_id: target,
    notification_id: id,
    status,
    attestation_id: attestationId,
    timestamp: new Date(at).toISOString(),
  });
}

function ambiguous(): Refusal {
  const message = "is the id of several senders' notifications, the delivery_id names one of them";
  return violationAt("/target_id", "const", message);
}
