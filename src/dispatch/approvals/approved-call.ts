/**
 * The call that an approval is for: as operators read it, and as its digest is taken. Two requests
 * are one call where all of its members are the same, whatever they look like on the wire. And the
 * record of its answer, where it was made.
 * docs/approvals.md
 */
import { randomBytes } from "node:crypto";
import { isRecord, type JsonRecord, recordIn, textIn } from "../../base/json-value.ts";
import { canonicalDigest, canonicalText } from "../../identity/canonical-form.ts";
import { decodeJws } from "../../identity/jws.ts";
import type { Ledger } from "../../state/records/ledger.ts";
import type { ApprovalOutcome, ApprovedCall } from "../../state/registers/approval.ts";
import type { Escalation } from "../../state/registers/escalation.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../routes/route.ts";
import type { GovernedVersions } from "./approval-policy.ts";

/** The parts that tell one question about a call from another one. */
type Question = Pick<ApprovedCall, "expires_at" | "nonce">;

const VERSIONS: ReadonlySet<keyof ApprovedCall> = new Set(["endpoint_version", "policy_version"]);
const NONCE_OCTETS = 16;
/** Nobody reads longer calls, and many of them would be much to keep. */
const MAX_CALL_OCTETS = 32_768;

/** A question that is asked now. */
export function newQuestion(expiresAt: number): Question {
  const nonce = randomBytes(NONCE_OCTETS).toString("base64url");
  return { expires_at: new Date(expiresAt).toISOString(), nonce };
}

/** The question that an escalation asks. */
export function questionOf({ deadlineAt, approval }: Escalation): Question {
  return { expires_at: new Date(deadlineAt).toISOString(), nonce: approval?.nonce ?? "" };
}

/** A request as the call that somebody may approve. */
export function approvedCall(
  { caller, method, path, input }: Exchange,
  versions: GovernedVersions,
  { expires_at, nonce }: Question,
): ApprovedCall {
  const { endpoint_version, policy_version } = versions;
  return {
    agent: caller.agentId ?? "",
    principal: caller.principalId ?? null,
    ...{ method, path, endpoint_version, input, policy_version, expires_at, nonce },
  };
}

/** `sha256:` of a call; throws for an input that has no canonical form. */
export function callDigest(call: ApprovedCall): string {
  return canonicalDigest({ ...call });
}

/** The call as it is shown and kept: without the secrets that its endpoint keeps nowhere. */
export function shownCall(
  call: ApprovedCall,
  { concealment }: Pick<Route, "concealment">,
): unknown {
  return concealment === undefined ? call : concealment.value(call);
}

/** The members in which a call is another one than that of an escalation. */
export function differences(
  escalation: Escalation,
  call: ApprovedCall,
  route: Pick<Route, "concealment">,
): readonly (keyof ApprovedCall)[] {
  const asked = askedOf(escalation);
  const shown = shownCall(call, route) as JsonRecord;
  const names = Object.keys(call) as (keyof ApprovedCall)[];
  const others = names.filter((name) => canonicalText(asked[name]) !== canonicalText(shown[name]));
  const isSame = others.length > 0 || callDigest(call) === escalation.approval?.digest;
  // Values that are concealed alike may be different all the same.
  return isSame ? others : ["input"];
}

/** The principal that an escalation is for; undefined: an agent asked for itself. */
export function principalOf(escalation: Escalation): string | undefined {
  if (escalation.approval === undefined) return escalation.principalId;
  return textIn(askedOf(escalation)["principal"]);
}

/** Tells whether nothing but the server's own files has changed since the question. */
export function isOutdatedOnly(members: readonly (keyof ApprovedCall)[]): boolean {
  return members.every((name) => VERSIONS.has(name));
}

function askedOf({ context }: Escalation): JsonRecord {
  const call = isRecord(context) ? context["call"] : undefined;
  return recordIn(call);
}

/** Tells whether an input can be put before an operator. */
export function isReadable(input: JsonRecord): boolean {
  return unreadableFault(input) === undefined;
}

/** Why no operator could read an input, or no approval be bound to it; undefined: it can be approved. */
export function unreadableFault(
  input: JsonRecord,
): { readonly keyword: string; readonly message: string } | undefined {
  let octets: number;
  try {
    octets = Buffer.byteLength(canonicalText(input));
  } catch {
    const message = "must have a canonical form for an approval to be bound to it";
    return { keyword: "format", message };
  }
  if (octets <= MAX_CALL_OCTETS) return undefined;
  const message = `must be at most ${MAX_CALL_OCTETS} octets of JSON to be put before an operator, has ${octets}`;
  return { keyword: "maxLength", message };
}

/** The ids that the answer is known by. */
interface AnswerMark {
  readonly responseId: string;
  /** When the call began, in milliseconds since the epoch. */
  readonly at: number;
}

/** As many records of one agent as are read for it; those of a running process are known without. */
const MAX_RECORDS = 10_000;
/** A chain's times never go back, the machine's clock may. */
const CLOCK_STEP_MS = 3_600_000;

/**
 * The answer as its record has it, also one that an earlier process gave: found in the chain of the agent
 * that was answered, from its end back to the time of the call; undefined: there is no such record.
 */
export async function findAnswer(
  ledger: Pick<Ledger, "currentHeadOf" | "find">,
  agentId: string,
  { responseId, at }: AnswerMark,
): Promise<ApprovalOutcome | undefined> {
  let auditId = (await ledger.currentHeadOf(agentId))?.auditId;
  for (let count = 0; auditId !== undefined && count < MAX_RECORDS; count += 1) {
    const jws = await ledger.find(auditId);
    const payload = jws === undefined ? undefined : decodeJws(jws)?.payload;
    if (payload === undefined) return undefined;
    const { status, response_id: found, previous_audit_id: previous, issued_at: issued } = payload;
    if (found === responseId && typeof status === "number") return { status, auditId };
    if (Date.parse(String(issued)) < at - CLOCK_STEP_MS) return undefined;
    auditId = textIn(previous);
  }
  return undefined;
}
