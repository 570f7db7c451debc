/**
 * NOTIFY: puts a notification into its recipients' inboxes and the webhook outbox before the answer; a broadcast to
 * the infrastructure reports a revoked certificate.
 * 262 and 401 for a caller that is no agent of this server · 404 no such recipient · 409 another notification has the
 * id · 410 the agent is retired · 422 malformed · 429 too many.   AGTP "NOTIFY"
 */

import { isRecord, quoteValue } from "../../base/json-value.ts";
import type { Caller } from "../../dispatch/caller/caller.ts";
import { operatorOf, refuseAuthority } from "../../dispatch/caller/operator.ts";
import type { IdentityConfig } from "../../dispatch/policy/policies-section.ts";
import type { RateWindow } from "../../dispatch/rates/rate-window.ts";
import {
  recipientsFull,
  tooManyNotifications,
  tooManyRevocations,
  tooManyUnread,
} from "../../dispatch/refusals/floor-refusals.ts";
import {
  agentNotFound,
  agentRetired,
  agentUnauthenticated,
  authorizationRequired,
  idempotencyConflict,
  notFound,
  type Refusal,
  violationAt,
} from "../../dispatch/refusals/refusal.ts";
import { floorResult } from "../../dispatch/routes/floor.ts";
import type { ExchangeView, RouteHandler } from "../../dispatch/routes/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import {
  type CertificateRegister,
  normalizeSerial,
} from "../../state/registers/certificate-register.ts";
import type { Notification, NotificationDraft, Recipient } from "./notification.ts";
import type { NotificationRegister } from "./notification-register.ts";
import { acceptedReceipt, acceptedState } from "./notification-views.ts";
import { type NotifyRequest, readNotifyRequest } from "./notify-request.ts";
import { type AddressBook, resolveRecipients } from "./recipients.ts";

interface NotifyOptions {
  readonly directory: Pick<AgentDirectory, "find">;
  readonly certificates: Pick<CertificateRegister, "revoke" | "isRevoked" | "hasRoom">;
  readonly policy: IdentityConfig;
  readonly register: NotificationRegister;
  readonly book: AddressBook;
  readonly rate: RateWindow;
  readonly serverId: string;
}

const PER_MINUTE = 120;

/** The handler of NOTIFY on "/". */
export function notifyHandler(options: NotifyOptions): RouteHandler {
  return (call, exchange) => {
    const isBroadcast = call.input["recipient"] === BROADCAST;
    return isBroadcast
      ? revokeCertificate(options, call, exchange)
      : notify(options, call, exchange.caller);
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

/** Nothing is awaited before the register has the notification, so a concurrent repetition gets the same answer. */
async function deliver(
  { register, book, serverId }: NotifyOptions,
  call: Call,
  request: NotifyRequest & Pick<NotificationDraft, "sender" | "senderName">,
): Promise<HandlerSuccess | Refusal> {
  const { addresses, earlierFingerprint: _, ...said } = request;
  const recipients = resolveRecipients(addresses, book, request.sender);
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

/** Answers a repeated id: with the receipt, or with 409 if the notification differs. */
function repeated(
  call: Call,
  known: Notification,
  { fingerprint, earlierFingerprint }: NotifyRequest,
): HandlerSuccess | Refusal {
  const isSame = [fingerprint, earlierFingerprint].includes(known.fingerprint);
  return isSame ? floorResult(call, acceptedReceipt(known)) : idTaken();
}

/** Returns a refusal if no recipient may get the notification. */
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

/** The recipient that stands for this server. */
const BROADCAST = "infrastructure:broadcast";

/** Acts on a broadcast; `certificate_revoked` is the only supported event. */
async function revokeCertificate(
  { directory, certificates, policy }: NotifyOptions,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const { content } = call.input;
  if (!isRecord(content) || content["event_type"] !== "certificate_revoked") {
    return malformed("event_type", 'must be "certificate_revoked"');
  }
  const { agent_id: agentId, certificate_serial: written, revocation_reason: reason } = content;
  if (typeof agentId !== "string") return malformed("agent_id", "must be an Agent-ID");
  const serial = typeof written === "string" ? normalizeSerial(written) : undefined;
  if (serial === undefined) return malformed("certificate_serial", "must be hex digits");
  const agent = directory.find(agentId);
  const refusal = refuseAuthority(exchange, agent, { policy, certificates });
  if (refusal !== undefined) {
    call.log.warn({ code: refusal.code, serial }, "the revocation of a certificate was refused");
    return refusal;
  }
  if (agent === undefined) return agentNotFound();
  exchange.addressed = agent;
  const isOperator = operatorOf(exchange.peer, policy) !== undefined;
  if (!isOperator && !certificates.hasRoom({ serial, agentId })) return tooManyRevocations();
  await certificates.revoke({
    serial,
    agentId,
    reason: typeof reason === "string" ? reason.slice(0, 256) : "",
    revokedAt: new Date().toISOString(),
  });
  call.log.warn({ agent_id: agentId, serial }, "a certificate was revoked");
  return floorResult(call, { notification_id: uuidv7(), recipient: BROADCAST, delivered: true });
}

function malformed(member: string, message: string): Refusal {
  return violationAt(`/content/${member}`, "type", message);
}
