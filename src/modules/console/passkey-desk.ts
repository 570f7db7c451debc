/**
 * Passkeys at the console's service: who has which, and what they sign. Once a person has one,
 * approving takes its signature, and so does having another or one less: a session that somebody
 * took is not enough. The library is loaded for whoever uses one.
 */

import type { JsonRecord } from "../../base/json-value.ts";
import { loadLate } from "../../base/late-load.ts";
import { canonicalDigest } from "../../identity/canonical-form.ts";
import type { PasskeyAttestation, SignedDecision } from "../../identity/passkey-attestation.ts";
import type { Escalation, Verdict } from "../../state/registers/escalation.ts";
import type { ApiRequest } from "./console-api.ts";
import { ConsoleFault } from "./console-fault.ts";
import type { CeremonyParts } from "./passkey-ceremonies.ts";
import type { PasskeyChallenges } from "./passkey-challenges.ts";
import type { Passkeys } from "./passkeys.ts";
import type { ConsolePlace } from "./place.ts";

/** The parts of a desk. */
export interface DeskParts {
  readonly passkeys: Passkeys;
  readonly challenges: PasskeyChallenges;
  readonly place: ConsolePlace;
}

/** The ceremonies over these parts. */
export interface PasskeyDesk extends DeskParts {
  ceremonies(): Promise<typeof import("./passkey-ceremonies.ts")>;
}

/** Loads nothing yet. */
export function openDesk(parts: DeskParts): PasskeyDesk {
  return { ...parts, ceremonies: loadLate(() => import("./passkey-ceremonies.ts")) };
}

/** The decision that a passkey signs. */
export function signedDecision(escalation: Escalation, decision: Verdict): SignedDecision {
  const { escalationId: escalation_id, agentId: agent_id, reason = null, context } = escalation;
  const question = { escalation_id, agent_id, reason, context };
  const digest = escalation.approval?.digest ?? canonicalDigest(question);
  return { escalation_id, digest, decision };
}

/** CONFIRM in the person's name: to accept takes the passkey of a person who has one. */
export async function confirmSigned(
  desk: PasskeyDesk,
  escalation: Escalation,
  status: Verdict,
  { request, input }: { readonly request: ApiRequest; readonly input: JsonRecord },
): Promise<JsonRecord> {
  const { act, signedIn } = request;
  const confirmation = { target_id: escalation.escalationId, status, ...input };
  if (status !== "accepted" || desk.passkeys.of(signedIn.person.id).length === 0) {
    return act("CONFIRM", "/", confirmation);
  }
  const subject = signedDecision(escalation, status);
  const attestation = await signatureIn(desk, request, subject);
  return act("CONFIRM", "/", { ...confirmation, attestation }, "passkey");
}

/** The signature that a change brings as `assertion`. @throws ConsoleFault */
export async function signatureIn(
  desk: PasskeyDesk,
  { body, signedIn }: ApiRequest,
  subject: SignedDecision | JsonRecord,
): Promise<PasskeyAttestation> {
  const { assertion: response } = body;
  if (response === undefined) {
    throw new ConsoleFault(403, "passkey-required", "this takes the signature of your passkey");
  }
  const { endSignature } = await desk.ceremonies();
  return endSignature(desk satisfies CeremonyParts, signedIn, { subject, response });
}
