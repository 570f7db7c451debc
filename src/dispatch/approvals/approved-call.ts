/**
 * The call that an approval is for, as operators see it and as its digest is computed. Two requests
 * are the same call if all its members are equal, however they were written on the wire. Also finds
 * the record of the call's answer.   docs/approvals.md
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

/** The members that tell two questions about the same call apart. */
type Question = Pick<ApprovedCall, "expires_at" | "nonce">;

const VERSIONS: ReadonlySet<keyof ApprovedCall> = new Set(["endpoint_version", "policy_version"]);
const NONCE_OCTETS = 16;
/** Nobody would read a longer call, and many of them would fill the store. */
const MAX_CALL_OCTETS = 32_768;

/** Makes a question that is asked now. */
export function newQuestion(expiresAt: number): Question {
  const nonce = randomBytes(NONCE_OCTETS).toString("base64url");
  return { expires_at: new Date(expiresAt).toISOString(), nonce };
}

/** Returns the question that an escalation asks. */
export function questionOf({ deadlineAt, approval }: Escalation): Question {
  return { expires_at: new Date(deadlineAt).toISOString(), nonce: approval?.nonce ?? "" };
}

/** Builds the call to approve from a request. */
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

/** Returns the `sha256:` digest of a call. Throws for an input that has no canonical form. */
export function callDigest(call: ApprovedCall): string {
  return canonicalDigest({ ...call });
}

/** Returns the call as it is shown and stored, with its endpoint's secrets concealed. */
export function shownCall(
  call: ApprovedCall,
  { concealment }: Pick<Route, "concealment">,
): unknown {
  return concealment === undefined ? call : concealment.value(call);
}

/** Returns the members in which a call differs from the call of an escalation. */
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
  // Equal concealed values may hide different ones, so the digest of the whole call decides.
  return isSame ? others : ["input"];
}

/** Returns the principal that an escalation is for; undefined if the agent asked for itself. */
export function principalOf(escalation: Escalation): string | undefined {
  if (escalation.approval === undefined) return escalation.principalId;
  return textIn(askedOf(escalation)["principal"]);
}

/** Tells whether only the server's own files have changed since the question was asked. */
export function isOutdatedOnly(members: readonly (keyof ApprovedCall)[]): boolean {
  return members.every((name) => VERSIONS.has(name));
}

function askedOf({ context }: Escalation): JsonRecord {
  const call = isRecord(context) ? context["call"] : undefined;
  return recordIn(call);
}

/** Tells whether an input can be shown to an operator. */
export function isReadable(input: JsonRecord): boolean {
  return unreadableFault(input) === undefined;
}

/** Says why no operator could read an input or no approval be bound to it; undefined if both work. */
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

/** The call whose answer is looked up. */
interface AnswerMark {
  readonly responseId: string;
  /** The start of the call, in milliseconds since the epoch. */
  readonly at: number;
}

/** The most records of an agent that are searched; a running process needs no search for its own. */
const MAX_RECORDS = 10_000;
/** The tolerance for clock steps: a chain's times never go back, but the machine's clock may. */
const CLOCK_STEP_MS = 3_600_000;

/**
 * Finds the recorded answer of a call, even of an earlier process: it walks the agent's chain from
 * its head back to the time of the call. Undefined if there is no such record.
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
