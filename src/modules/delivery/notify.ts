/**
 * NOTIFY: what its sender wants others to know, put into their inboxes and on its way to webhooks
 * before the answer; for the infrastructure, that a certificate was revoked.
 * 262 and 401 for who is no agent of this server · 404 nobody of that name · 409 another
 * notification has the id · 410 the agent is retired · 422 malformed · 429 too many.   AGTP "NOTIFY"
 */

import { quoteValue } from "../../base/json-value.ts";
import type { RateWindow } from "../../base/rate-window.ts";
import type { Caller } from "../../dispatch/caller.ts";
import {
  recipientsFull,
  tooManyNotifications,
  tooManyUnread,
} from "../../dispatch/floor-refusals-delivery.ts";
import { floorResult } from "../../dispatch/floor-result.ts";
import {
  agentRetired,
  agentUnauthenticated,
  authorizationRequired,
  idempotencyConflict,
  notFound,
  type Refusal,
} from "../../dispatch/refusal.ts";
import type { RouteHandler } from "../../dispatch/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { Notification, NotificationDraft, Recipient } from "./notification.ts";
import type { NotificationRegister } from "./notification-register.ts";
import { type NotifyRequest, readNotifyRequest } from "./notify-request.ts";
import { acceptedReceipt, acceptedState } from "./receipt.ts";
import { type AddressBook, resolveRecipients } from "./recipients.ts";
import {
  BROADCAST,
  type RevokeCertificateOptions,
  revokeCertificate,
} from "./revoke-certificate.ts";

/** The parts that NOTIFY works on. */
export interface NotifyOptions {
  readonly broadcast: RevokeCertificateOptions;
  readonly register: NotificationRegister;
  readonly book: AddressBook;
  readonly rate: RateWindow;
  readonly serverId: string;
}

const PER_MINUTE = 120;

/** The handler of NOTIFY on "/". */
export function notifyHandler(options: NotifyOptions): RouteHandler {
  return (call, exchange) => {
    if (call.input["recipient"] === BROADCAST) {
      return revokeCertificate(options.broadcast, call, exchange);
    }
    return notify(options, call, exchange.caller);
  };
}

async function notify(
  options: NotifyOptions,
  call: Call,
  caller: Caller,
): Promise<HandlerSuccess | Refusal> {
  const { agentId, document } = caller;
  if (agentId === undefined) {
    return authorizationRequired("credentials-missing", "NOTIFY needs an Agent-ID");
  }
  if (document === undefined) {
    return agentUnauthenticated("only agents that this server knows may notify others");
  }
  const { register, rate } = options;
  const request = readNotifyRequest(call.input, { agentId, now: register.now() });
  if ("kind" in request) return request;
  const known = request.id === undefined ? undefined : register.find(agentId, request.id);
  if (known !== undefined) {
    if (await register.settled(known)) return repeated(call, known, request);
    return notify(options, call, caller);
  }
  const retryAfter = rate.take(agentId, PER_MINUTE);
  if (retryAfter !== undefined) return tooManyNotifications(retryAfter);
  return deliver(options, call, { ...request, sender: agentId, senderName: document.name });
}

/** Nothing is awaited before the register has it: who repeats an id meanwhile is answered alike. */
async function deliver(
  { register, book, serverId }: NotifyOptions,
  call: Call,
  request: NotifyRequest & Pick<NotificationDraft, "sender" | "senderName">,
): Promise<HandlerSuccess | Refusal> {
  const { addresses, ...said } = request;
  const recipients = resolveRecipients(addresses, book);
  const nobody = refuseNobody(recipients);
  if (nobody !== undefined) return nobody;
  const acceptance = await register.accept({ ...said, recipients, serverId });
  switch (acceptance.kind) {
    case "accepted":
      return floorResult(call, acceptedReceipt(acceptance.notification));
    case "taken":
      return repeated(call, acceptance.notification, request);
    case "undelivered":
      return recipientsFull(acceptance.deliveries.map(acceptedState));
    case "full":
      return tooManyUnread();
  }
}

/** The sender has sent it before, or something else under this id. */
function repeated(
  call: Call,
  known: Notification,
  { fingerprint }: Pick<NotifyRequest, "fingerprint">,
): HandlerSuccess | Refusal {
  return known.fingerprint === fingerprint ? floorResult(call, acceptedReceipt(known)) : idTaken();
}

/** Undefined as long as there is one recipient that may get it. */
function refuseNobody(recipients: readonly Recipient[]): Refusal | undefined {
  const [first] = recipients;
  if (first === undefined || recipients.some(({ kind }) => kind !== "nobody")) return undefined;
  const isOne = recipients.length === 1 && first.kind === "nobody";
  if (isOne && first.agentId !== undefined) return agentRetired(first.agentId, undefined);
  const names = recipients.map(({ name }) => quoteValue(name)).slice(0, 3);
  const message = `this server reaches nobody as ${names.join(", ")}`;
  return notFound("recipient-not-found", message);
}

function idTaken(): Refusal {
  const message = "the notification_id belongs to another notification of this sender";
  return idempotencyConflict("idempotency-key-reuse", message);
}
