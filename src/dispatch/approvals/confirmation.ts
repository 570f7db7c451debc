/**
 * CONFIRM: its body, in the words of the draft or older ones, and the kinds of things that it
 * decides: escalations, notifications, runs. 422 without a target or without one of three verdicts.
 * AGTP "CONFIRM"
 */

import { isRecord, type JsonRecord, textIn, textsIn } from "../../base/json-value.ts";
import type { Call, HandlerResult } from "../../handlers/handler.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { checkOctets } from "../../schema/schema-violation.ts";
import { VERDICTS, type Verdict } from "../../state/registers/escalation.ts";
import { type Refusal, schemaViolation, violationAt } from "../refusals/refusal.ts";
import type { CausingRequest } from "../stream-events.ts";

export interface Confirmation {
  readonly targetId: string;
  readonly status: Verdict;
  readonly reason: string | undefined;
  /** Any JSON value. */
  readonly attestation: unknown;
  /** The answer to an upstream's question. */
  readonly content: JsonRecord | undefined;
}

const ID = { type: "string", minLength: 1, maxLength: 256 };
const TEXT = { type: "string", minLength: 1, maxLength: 2_048 };
const MAX_ATTESTATION_BYTES = 4_096;
const MAX_CONTENT_BYTES = 32_768;

/** The input schema of CONFIRM; some kinds accept further members. */
export const CONFIRM_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    ...{ target_id: ID, escalation_id: ID, notification_id: ID, attestation_target: ID },
    ...{ status: { type: "string" }, decision: { type: "string" } },
    ...{ reason: TEXT, rationale: TEXT, note: TEXT, notes: TEXT },
    attestation: { type: ["string", "object"] },
    content: {
      type: "object",
      description: "The answer to what an upstream asked, where it was one; its schema is shown.",
    },
    resume_value: { description: "What a run that asked is to go on with, where it was one." },
  },
  examples: [{ target_id: "esc-0197a3f0-0000-7000-8000-000000000000", status: "accepted" }],
};

/** Synonyms of the draft's three verdicts. */
const WORDS: Readonly<Record<Verdict, readonly string[]>> = {
  accepted: ["accepted", "accept", "approved", "approve", "confirmed", "confirm"],
  rejected: ["rejected", "reject", "denied", "deny", "declined", "decline"],
  deferred: ["deferred", "defer"],
};

/** Reads the input of CONFIRM. */
export function readConfirmation({ input }: Pick<Call, "input">): Confirmation | Refusal {
  const { target_id, escalation_id, notification_id, attestation_target, attestation } = input;
  const names = [target_id, escalation_id, notification_id, attestation_target];
  const [targetId, ...rest] = textsIn([...new Set(names)]);
  if (targetId === undefined || rest.length > 0) {
    const message =
      targetId === undefined ? "is required" : "must be the one that is named elsewhere";
    return violationAt("/target_id", "required", message);
  }
  const status = verdictOf(input["status"] ?? input["decision"]);
  if (status === undefined) {
    const message = `must be one of ${VERDICTS.map((word) => `"${word}"`).join(", ")}`;
    return violationAt("/status", "enum", message);
  }
  const { rationale, note, notes, content } = input;
  const [excess] = [
    ...checkOctets("/attestation", attestation, MAX_ATTESTATION_BYTES),
    ...checkOctets("/content", content, MAX_CONTENT_BYTES),
  ];
  if (excess !== undefined) return schemaViolation([excess]);
  const reason = input["reason"] ?? rationale ?? note ?? notes;
  return {
    ...{ targetId, status, attestation },
    reason: textIn(reason),
    content: isRecord(content) ? content : undefined,
  };
}

function verdictOf(written: unknown): Verdict | undefined {
  if (typeof written !== "string") return undefined;
  const word = written.toLowerCase();
  return VERDICTS.find((verdict) => WORDS[verdict].includes(word));
}

/**
 * The result of one kind; undefined if the target is of another kind, or must look like it. Then
 * the next kind is asked, and 404 answers if none is left.
 */
export type Confirmed = Promise<HandlerResult | Refusal | undefined>;

/** A kind of thing that waits for a decision. */
export interface Confirmable {
  /** Decides the target; `byNext` lets the later kinds decide first, for a kind that acts afterwards. */
  confirm(confirmation: Confirmation, source: CausingRequest, byNext: () => Confirmed): Confirmed;
}

/** Returns the result of the first kind that has one. */
export async function confirmBy(
  [kind, ...rest]: readonly Confirmable[],
  confirmation: Confirmation,
  source: CausingRequest,
): Confirmed {
  const byNext = () => confirmBy(rest, confirmation, source);
  return kind && ((await kind.confirm(confirmation, source, byNext)) ?? byNext());
}
