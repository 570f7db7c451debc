/**
 * Passkeys at the console: their owners, and the decisions they sign. Once a person has a passkey, approving takes its
 * signature, and so does adding or removing one: a stolen session is not enough. The library is loaded at first use.
 */
import { hash } from "node:crypto";
import { given, isRecord, type JsonRecord } from "../../base/json-value.ts";
import { loadLate } from "../../base/late-load.ts";
import { createStreamRecorder } from "../../dispatch/stream-events.ts";
import { canonicalDigest, canonicalTextOf } from "../../identity/canonical-form.ts";
import type { PasskeyAttestation, SignedDecision } from "../../identity/passkey-attestation.ts";
import { serverChainId } from "../../state/records/record.ts";
import type { Escalation, Verdict } from "../../state/registers/escalation.ts";
import type { Operator } from "../../state/registers/operator.ts";
import type { ConsoleContext } from "./config.ts";
import type { ApiRequest } from "./console-api.ts";
import { ConsoleFault, malformed } from "./console-fault.ts";
import {
  openPasskeys,
  type Passkey,
  PasskeyChallenges,
  type Passkeys,
  passkeyView,
} from "./passkeys.ts";
import type { ConsolePlace } from "./place.ts";

export interface PasskeyDesk {
  readonly passkeys: Passkeys;
  readonly challenges: PasskeyChallenges;
  readonly place: ConsolePlace;
  readonly record: RecordPasskey;
  ceremonies(): Promise<typeof import("./passkey-ceremonies.ts")>;
}

/** Opens the stored passkeys; loads no library yet. */
export async function openDesk(context: ConsoleContext, place: ConsolePlace): Promise<PasskeyDesk> {
  return {
    passkeys: await openPasskeys(context),
    challenges: await context.once(openChallenges),
    place,
    record: recordingPasskeys(context),
    ceremonies: loadLate(() => import("./passkey-ceremonies.ts")),
  };
}

const openChallenges = (): PasskeyChallenges => new PasskeyChallenges();

/** Returns the decision for a passkey to sign, with its answer. @throws ConsoleFault */
export function signedDecision(
  escalation: Escalation,
  decision: Verdict,
  answer: JsonRecord,
): SignedDecision {
  const { escalationId: escalation_id, agentId: agent_id, reason = null, context } = escalation;
  const question = { escalation_id, agent_id, reason, context };
  const digest = escalation.approval?.digest ?? canonicalDigest(question);
  // Of all approvals only an upstream's question takes content, and stores some even if none was sent.
  const isAsking = escalation.approval?.question !== undefined && decision === "accepted";
  const { content = {}, resume_value } = answer;
  return {
    ...{ escalation_id, digest, decision },
    ...given({
      content_digest: isAsking ? answerDigest("content", content) : undefined,
      resume_value_digest:
        resume_value === undefined ? undefined : answerDigest("resume_value", resume_value),
    }),
  };
}

function answerDigest(name: string, value: unknown): string {
  const text = canonicalTextOf(value);
  if (text === undefined) throw malformed(`${name} has half of a character, or no bottom`);
  return `sha256:${hash("sha256", text)}`;
}

/** Members of a body that carry an answer. */
export const ANSWERS = ["content", "resume_value"] as const;

/** Returns the answer that a decision carries. @throws ConsoleFault */
export function answerIn(body: JsonRecord): JsonRecord {
  const { content } = body;
  if (content !== undefined && !isRecord(content)) throw malformed("content must be an object");
  const brought = ANSWERS.filter((name) => Object.hasOwn(body, name));
  return Object.fromEntries(brought.map((name) => [name, body[name]]));
}

/** Sends CONFIRM in the person's name; accepting takes a signature if the person has a passkey. */
export async function confirmSigned(
  desk: PasskeyDesk,
  escalation: Escalation,
  status: Verdict,
  { request, input }: { readonly request: ApiRequest; readonly input: JsonRecord },
): Promise<JsonRecord> {
  const { act, signedIn } = request;
  const confirmation = { target_id: escalation.escalationId, status, ...input };
  if (status !== "accepted" || desk.passkeys.ofOwner(signedIn.person.id).length === 0) {
    return act("CONFIRM", confirmation);
  }
  const subject = signedDecision(escalation, status, input);
  const attestation = await signatureIn(desk, request, subject);
  return act("CONFIRM", { ...confirmation, attestation }, "passkey");
}

/** Verifies the signature that a change carries as `assertion`. @throws ConsoleFault */
export async function signatureIn(
  desk: PasskeyDesk,
  { body, signedIn }: ApiRequest,
  subject: SignedDecision | JsonRecord,
): Promise<PasskeyAttestation> {
  const { assertion: response } = body;
  if (response === undefined) throw signatureRequired();
  const { endSignature } = await desk.ceremonies();
  return endSignature(desk, signedIn, { subject, response });
}

/** The refusal of a change that needs a passkey's signature. */
export function signatureRequired(): ConsoleFault {
  return new ConsoleFault(403, "passkey-required", "this takes the signature of your passkey");
}

type PasskeyChange = "passkey_registered" | "passkey_removed";

/** Writes one record; `operator` is undefined for a request over the control socket. */
type RecordPasskey = (
  change: PasskeyChange,
  passkey: Passkey,
  operator: Operator | undefined,
) => Promise<void>;

const LOGGED = {
  passkey_registered: { event: "console-passkey-registered" },
  passkey_removed: { event: "console-passkey-removed" },
} as const;

/**
 * Records changes of a person's passkeys in the server's chain, with the public key, so that a reader of an approval
 * can later tell whose key signed it.   docs/console.md
 */
function recordingPasskeys(context: ConsoleContext): RecordPasskey {
  const record = createStreamRecorder(context);
  const agentId = serverChainId(context.config.server.serverId);
  return async (change, { id, personId, name, jwk }, operator) => {
    const about = { method: "POST", path: "/api/passkeys" };
    const said = operator === undefined ? { via: "control-socket" } : { operator };
    const passkey = { person: personId, name, credential_id: id, public_key: jwk };
    await record([{ agentId, extension: { event_type: change, ...passkey, ...said }, about }]);
    const fields = { ...LOGGED[change], passkey: id, person: personId };
    context.log.info(fields, "the passkeys of a person have changed");
  };
}

/**
 * `agtpd passkeys`, the recovery for a person who lost theirs: lists every passkey; `forget` first removes those of
 * the named person. @throws if that person has none
 */
export async function listPasskeys(
  { forget }: JsonRecord,
  { passkeys, record }: PasskeyDesk,
): Promise<JsonRecord> {
  const gone = typeof forget === "string" ? passkeys.ofOwner(forget) : [];
  if (forget !== undefined && gone.length === 0) {
    throw new Error(`${JSON.stringify(forget)} has no passkey: expected a person that is listed`);
  }
  // A passkey is removed only after a record says so.
  for (const passkey of gone) await record("passkey_removed", passkey, undefined);
  await passkeys.deleteEverywhere(gone.map(({ id }) => id));
  return {
    forgotten: gone.length,
    passkeys: passkeys.values().map((one) => ({ person: one.personId, ...passkeyView(one) })),
  };
}
