/**
 * The stored form of a reply under an Idempotency-Key, and its replay with the same status, body
 * and header fields, plus one that marks it. Stamped fields are made anew.   AGTP-API §10.1.5
 */
import { given, isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { KeptResponse } from "../../state/registers/kept-response.ts";
import { isStatus, type Status } from "../../wire/message.ts";
import type { Exchange } from "../exchange.ts";
import type { WorkOutcome } from "../refusals/delegation-refusals.ts";
import type { Refusal } from "../refusals/refusal.ts";
import type { RefusalCode } from "../refusals/refusal-code.ts";
import { isOutcomeUnknown } from "../refusals/store-refusals.ts";
import type { Reply } from "../reply.ts";
import { encodeBody } from "../stamp.ts";

/** Marks a reply as a replay. */
const REPLAYED = { "Idempotency-Replayed": "true" };

/**
 * Refusals that hold for the same request, or that followed an effect. All others, except
 * `outcome-unknown`, mean that nothing was done for a passing reason: the caller's credentials or
 * the server's state.
 */
const LASTING: ReadonlySet<Status> = new Set<Status>([400, 409, 422, 463, 464, 500, 550, 551]);
/**
 * Codes that another Escalation-ID can change for the same request: 409, while an endpoint's own
 * errors are 422.
 */
const PASSING: ReadonlySet<string> = new Set<RefusalCode>([
  ...(["approval-mismatch", "approval-used", "approval-expired", "approval-elsewhere"] as const),
]);

/** Tells whether the same request must always get this reply. */
export function isLasting({ refusal }: Pick<Reply, "refusal">): boolean {
  if (refusal === undefined) return true;
  const { status, code } = refusal;
  if (status === 550) return !isTaskUndone(refusal);
  return LASTING.has(status) && !(status === 409 && PASSING.has(code));
}

/** Codes of a call that waits for its approval, or presented a wrong one. */
const UNAPPROVED: ReadonlySet<unknown> = new Set<RefusalCode>([
  ...(["approval-required", "approval-rejected"] as const),
  ...(PASSING as ReadonlySet<RefusalCode>),
]);

/**
 * Tells whether a delegated task was never started, or its first call not approved, along the whole
 * delegation.
 */
function isTaskUndone({ carried = {} }: Refusal): boolean {
  let told: JsonRecord = carried;
  for (;;) {
    const { outcome, sub_agent: agent } = told;
    if (outcome === ("not-begun" satisfies WorkOutcome)) return true;
    if (outcome !== ("failed" satisfies WorkOutcome) || !isRecord(agent)) return false;
    const { status, step = 0, error } = agent;
    if (step !== 0 || !isRecord(error)) return false;
    if (status !== 550) return UNAPPROVED.has(error["code"]);
    told = error;
  }
}

/** Tells whether a reply leaves the outcome unknown. */
export function isOpenOutcome({ refusal }: Reply): boolean {
  return refusal !== undefined && isOutcomeUnknown(refusal);
}

/** Tells whether a reply may be stored: `Cache-Control: no-store` marks one with a secret. */
export function mayBeKept({ headers = {} }: Reply): boolean {
  return !Object.entries(headers).some(
    ([name, value]) => name.toLowerCase() === "cache-control" && /\bno-store\b/i.test(value),
  );
}

/** Returns a reply with its body encoded, once. Throws if the body cannot be encoded. */
export function encodeReply(reply: Reply): Reply {
  const body = encodeBody(reply);
  if (typeof body !== "string") return reply;
  return { ...reply, body: body === "" ? undefined : Buffer.from(body) };
}

/** Returns the stored form of an encoded reply. */
export function keepReply(reply: Reply, { addressed, partScopes }: Exchange): KeptResponse {
  const { status, contentType, headers, refusal } = reply;
  return {
    ...{ status, contentType },
    ...given({ headers, code: refusal?.code, addressed: addressed?.agentId, partScopes }),
    ...keepBody(reply.body),
  };
}

function keepBody(body: unknown): Pick<KeptResponse, "text" | "base64"> {
  if (!(body instanceof Uint8Array)) return {};
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString("base64") };
}

/** Rebuilds a stored reply; undefined if the stored form is invalid. */
export function replayReply(kept: KeptResponse): Reply | undefined {
  const { status, contentType, headers, code, text, base64 } = kept;
  if (!isStatus(status)) return undefined;
  const bytes = base64 === undefined ? Buffer.from(text ?? "") : Buffer.from(base64, "base64");
  return {
    ...{ status, contentType },
    headers: { ...headers, ...REPLAYED },
    body: bytes.length === 0 ? undefined : bytes,
    refusal: code === undefined ? undefined : { kind: "refusal", status, code, message: "" },
  };
}
