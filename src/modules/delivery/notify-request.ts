/**
 * A request of NOTIFY, with the parameters of the draft or of the reference implementation (`event` with `payload`,
 * `priority`). 422 for invalid parameters.   AGTP "NOTIFY"
 */

import { hash } from "node:crypto";
import { MOMENT_FORMS, readMoment } from "../../base/duration.ts";
import { textIn } from "../../base/json-value.ts";
import { type Refusal, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import { MAX_NOTIFICATION_BYTES } from "../../dispatch/routes/floor.ts";
import { canonicalTextOf } from "../../identity/canonical-form.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { SchemaViolation } from "../../schema/schema.ts";
import {
  GUARANTEES,
  type Guarantee,
  type NotificationDraft,
  URGENCIES,
  type Urgency,
} from "./notification.ts";

/** A request of NOTIFY, as read from its parameters. */
export interface NotifyRequest
  extends Pick<
    NotificationDraft,
    | "id"
    | "fingerprint"
    | "recipient"
    | "urgency"
    | "guarantee"
    | "sentAt"
    | "expiresAt"
    | "content"
  > {
  readonly addresses: readonly string[];
  /** The fingerprint of an earlier version, which depends on the order of members. */
  readonly earlierFingerprint: string;
}

interface NotifyContext {
  readonly agentId: string;
  readonly now: number;
}

const USUAL_LIFETIME_MS = 7 * 86_400_000;
const LONGEST_LIFETIME_MS = 30 * 86_400_000;

const ADDRESS = { type: "string", minLength: 1, maxLength: 512 };

/** Parameters of NOTIFY; the handler checks which are required. */
export const NOTIFY_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    recipient: {
      ...ADDRESS,
      type: ["string", "array"],
      items: ADDRESS,
      minItems: 1,
      maxItems: 64,
    },
    content: { type: ["object", "string"] },
    message: { type: ["object", "string"] },
    event: { type: "string", minLength: 1 },
    payload: {},
    urgency: { enum: URGENCIES },
    priority: { type: "string", maxLength: 64 },
    delivery_guarantee: { enum: GUARANTEES },
    expiry: { type: ["string", "integer"], minimum: 1, maximum: 315_360_000, maxLength: 64 },
    notification_id: { type: "string", pattern: "^[!-~]{1,256}$" },
    context: { type: "object" },
  },
  examples: [{ recipient: "porter", content: "The boat is here.", expiry: "PT1H" }],
};

/** Reads the parameters, which the schema has validated. */
export function readNotifyRequest(
  input: Readonly<Record<string, unknown>>,
  { agentId, now }: NotifyContext,
): NotifyRequest | Refusal {
  const content = contentOf(input);
  const recipient = recipientOf(input, agentId);
  const expiresAt = readExpiry(input["expiry"], now);
  const violations = [
    ...(recipient === undefined ? [violation("recipient", "required", "is required")] : []),
    ...findContentFault(content),
    ...(typeof expiresAt === "string" ? [violation("expiry", "format", expiresAt)] : []),
  ];
  if (recipient === undefined || typeof expiresAt === "string" || violations.length > 0) {
    return schemaViolation(violations);
  }
  const { urgency, priority, delivery_guarantee, expiry, notification_id } = input;
  const guarantee = (delivery_guarantee as Guarantee | undefined) ?? "at_least_once";
  const said = [recipient, content, urgency, priority, guarantee, expiry];
  const written = JSON.stringify(said);
  return {
    id: textIn(notification_id),
    fingerprint: hash("sha256", canonicalTextOf(said) ?? written),
    earlierFingerprint: hash("sha256", written),
    addresses: typeof recipient === "string" ? [recipient] : recipient,
    recipient,
    content,
    urgency: (urgency as Urgency | undefined) ?? urgencyOf(priority),
    guarantee,
    sentAt: now,
    expiresAt,
  };
}

/** The content; an event of the reference implementation is a name with a payload. */
function contentOf({ content, message, event, payload }: NotifyInput): unknown {
  const said = content ?? message;
  if (said !== undefined || event === undefined) return said;
  return payload === undefined ? { event } : { event, payload };
}

type NotifyInput = Readonly<Record<string, unknown>>;

/** The recipient; an event without one is for the calling agent, as in the reference implementation. */
function recipientOf(
  { recipient, event }: NotifyInput,
  agentId: string,
): string | readonly string[] | undefined {
  if (typeof recipient === "string") return recipient;
  if (Array.isArray(recipient)) return recipient.map(String);
  return event === undefined ? undefined : agentId;
}

function findContentFault(content: unknown): readonly SchemaViolation[] {
  if (content === undefined) return [violation("content", "required", "is required")];
  const length = Buffer.byteLength(JSON.stringify(content));
  if (length <= MAX_NOTIFICATION_BYTES) return [];
  const message = `must be at most ${MAX_NOTIFICATION_BYTES} octets of JSON, got ${length}`;
  return [violation("content", "maxLength", message)];
}

/** Reads a point in time, or a duration from `now`; returns what is wrong with it as a string. */
function readExpiry(written: unknown, now: number): number | string {
  if (written === undefined) return now + USUAL_LIFETIME_MS;
  const at = readMoment(written, now);
  if (at === undefined) return `must be ${MOMENT_FORMS}`;
  if (at <= now) return "must be in the future";
  return Math.min(at, now + LONGEST_LIFETIME_MS);
}

/** Maps the reference implementation's `priority` to an urgency. */
function urgencyOf(priority: unknown): Urgency {
  if (typeof priority !== "string") return "informational";
  if (/^(?:critical|urgent|high)$/i.test(priority)) return "critical";
  return /^(?:background|low)$/i.test(priority) ? "background" : "informational";
}

function violation(member: string, keyword: string, message: string): SchemaViolation {
  return { path: `/${member}`, keyword, message };
}
