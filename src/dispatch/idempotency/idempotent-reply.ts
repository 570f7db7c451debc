/**
 * A reply as it is kept under an Idempotency-Key, and a kept one as it is given again: with the
 * status, body and header fields that it had, and one more that says so. What is stamped on a
 * response is made anew.   AGTP-API §10.1.5
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

/** Says that the reply is to an earlier request. */
const REPLAYED = { "Idempotency-Replayed": "true" };

/**
 * Refusals that stand as long as the request is the same, or that something was done before. All
 * others but `outcome-unknown` say that nothing was done, for a reason that may pass: who asks, or where the
 * server stands.
 */
const LASTING: ReadonlySet<Status> = new Set<Status>([400, 409, 422, 463, 464, 500, 550, 551]);
/** Another Escalation-ID makes another answer of the same request: 409, where an endpoint's own errors are 422. */
const PASSING: ReadonlySet<string> = new Set<RefusalCode>([
  ...(["approval-mismatch", "approval-used", "approval-expired", "approval-elsewhere"] as const),
]);

/** Tells whether the same request must get the same reply from now on. */
export function isLasting({ refusal }: Pick<Reply, "refusal">): boolean {
  if (refusal === undefined) return true;
  const { status, code } = refusal;
  if (status === 550) return !isTaskUndone(refusal);
  return LASTING.has(status) && !(status === 409 && PASSING.has(code));
}

/** Codes of a call that waits for its approval, or brought one that is not for it. */
const UNAPPROVED: ReadonlySet<unknown> = new Set<RefusalCode>([
  ...(["approval-required", "approval-rejected"] as const),
  ...(PASSING as ReadonlySet<RefusalCode>),
]);

/** Tells whether a delegated task was not begun, or its first call not approved, however often it was handed on. */
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

/** Tells whether a reply leaves open what was done. */
export function isOpenOutcome({ refusal }: Reply): boolean {
  return refusal !== undefined && isOutcomeUnknown(refusal);
}

/** Tells whether a reply may be kept: one with `Cache-Control: no-store` has a secret in it. */
export function mayBeKept({ headers = {} }: Reply): boolean {
  return !Object.entries(headers).some(
    ([name, value]) => name.toLowerCase() === "cache-control" && /\bno-store\b/i.test(value),
  );
}

/** A reply with its body encoded, which happens once. Throws for a body that cannot be. */
export function encodeReply(reply: Reply): Reply {
  const body = encodeBody(reply);
  if (typeof body !== "string") return reply;
  return { ...reply, body: body === "" ? undefined : Buffer.from(body) };
}

/** The part of an encoded reply that is kept. */
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

/** The reply again; undefined when what was kept is none. */
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
