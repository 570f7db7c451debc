/**
 * Registers passkeys and verifies their signatures by WebAuthn: for the console's host name and origin, under a
 * challenge made for a single purpose.
 * 403 `passkey-refused` otherwise.
 */
import { hash } from "node:crypto";
import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server";
import { decodeCredentialPublicKey } from "@simplewebauthn/server/helpers";
import { given, type JsonRecord, parseRecord, recordIn, textIn } from "../../base/json-value.ts";
import type { PasskeyAttestation, SignedDecision } from "../../identity/passkey-attestation.ts";
import { ConsoleFault, malformed } from "./console-fault.ts";
import {
  type Challenge,
  findPasskey,
  notePasskeyUse,
  type Passkey,
  type PasskeyChallenges,
  type Passkeys,
} from "./passkeys.ts";
import type { ConsolePlace } from "./place.ts";
import type { SignedIn } from "./sessions.ts";

interface CeremonyParts {
  readonly passkeys: Passkeys;
  readonly challenges: PasskeyChallenges;
  readonly place: Pick<ConsolePlace, "baseUrl">;
}

/** EdDSA, ES256, RS256. */
const ALGORITHMS = [-8, -7, -257];
const REGISTRATION: JsonRecord = { purpose: "registration" };
const TIMEOUT_MS = 120_000;

/** Options for the browser to create a passkey. */
export async function beginRegistration(
  { passkeys, challenges, place }: CeremonyParts,
  { person, token }: SignedIn,
): Promise<object> {
  const { challenge } = challenges.create(token, REGISTRATION);
  return generateRegistrationOptions({
    ...{ rpName: "agtpd console", rpID: rpIdOf(place), userName: person.name },
    userID: userHandleOf(person),
    challenge: octetsOf(challenge),
    timeout: TIMEOUT_MS,
    attestationType: "none",
    excludeCredentials: passkeys.ofOwner(person.id).map(({ id }) => ({ id })),
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

/** A user handle of at most 64 octets that reveals nothing about the person.   Web Authentication §5.4.3, §14.6.1 */
function userHandleOf({ id }: SignedIn["person"]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hash("sha256", id, "buffer"));
}

/** Verifies and returns the passkey that the browser made. @throws ConsoleFault */
export async function endRegistration(
  { challenges, place }: CeremonyParts,
  { person, token }: SignedIn,
  { name, response }: { readonly name: string; readonly response: unknown },
): Promise<Passkey> {
  const { challenge } = taken(challenges, { token, response, subject: REGISTRATION });
  const { registrationInfo } = await judged(() =>
    verifyRegistrationResponse({
      response: response as unknown as RegistrationResponseJSON,
      ...{ expectedChallenge: challenge, expectedOrigin: new URL(place.baseUrl).origin },
      ...{ expectedRPID: rpIdOf(place), requireUserVerification: false },
      supportedAlgorithmIDs: ALGORITHMS,
    }),
  );
  if (registrationInfo === undefined) throw refused("the registration is not verified");
  const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
  const jwk = jwkOfCose(publicKey);
  if (jwk === undefined) throw refused("its kind of key is not supported");
  return {
    ...{ id, personId: person.id, name, jwk, counter, createdAt: Date.now() },
    publicKey: Buffer.from(publicKey).toString("base64url"),
    transports: transports.filter((one) => typeof one === "string").slice(0, 8),
  };
}

/** Options for the browser to sign a subject, and the nonce with which it can check the challenge. */
export async function beginSignature(
  { passkeys, challenges, place }: CeremonyParts,
  { person, token }: SignedIn,
  subject: SignedDecision | JsonRecord,
): Promise<{ readonly options: object; readonly nonce: string }> {
  const own = passkeys.ofOwner(person.id);
  if (own.length === 0) throw new ConsoleFault(409, "no-passkey", "you have no passkey here");
  const { challenge, nonce } = challenges.create(token, subject);
  const options = await generateAuthenticationOptions({
    ...{ rpID: rpIdOf(place), challenge: octetsOf(challenge), timeout: TIMEOUT_MS },
    allowCredentials: own.map(({ id, transports }) => ({ id, transports: [...transports] })),
  });
  return { options, nonce };
}

/** Verifies the person's signature over a subject, and returns it for records. @throws ConsoleFault */
export async function endSignature(
  { passkeys, challenges, place }: CeremonyParts,
  { person, token }: SignedIn,
  {
    subject,
    response,
  }: { readonly subject: SignedDecision | JsonRecord; readonly response: unknown },
): Promise<PasskeyAttestation> {
  const { challenge, nonce } = taken(challenges, { token, response, subject });
  const assertion = response as unknown as AuthenticationResponseJSON;
  const passkey = findPasskey(passkeys, person.id, String(assertion.id));
  if (passkey === undefined) throw refused("it is no passkey of yours");
  const { verified, authenticationInfo } = await judged(() =>
    verifyAuthenticationResponse({
      ...{ response: assertion, expectedChallenge: challenge, requireUserVerification: false },
      ...{ expectedOrigin: new URL(place.baseUrl).origin, expectedRPID: rpIdOf(place) },
      credential: {
        ...{ id: passkey.id, counter: passkey.counter },
        publicKey: octetsOf(passkey.publicKey),
      },
    }),
  );
  if (!verified) throw refused("its signature is not that of the passkey");
  if (!(await notePasskeyUse(passkeys, passkey.id, authenticationInfo.newCounter))) {
    throw refused("its counter went back: somebody else may have a copy of it");
  }
  const { clientDataJSON, authenticatorData, signature } = assertion.response;
  return {
    ...{ type: "webauthn", credential_id: passkey.id, public_key: passkey.jwk },
    ...digestsOf(subject),
    nonce,
    ...{ client_data_json: clientDataJSON, authenticator_data: authenticatorData, signature },
  };
}

/** The signed digests, for later verification of the signature. */
function digestsOf(
  subject: SignedDecision | JsonRecord,
): Pick<PasskeyAttestation, "digest" | "content_digest" | "resume_value_digest"> {
  const { digest = "", content_digest, resume_value_digest } = subject as Partial<SignedDecision>;
  return { digest, ...given({ content_digest, resume_value_digest }) };
}

interface Taking {
  readonly token: string;
  readonly response: unknown;
  readonly subject: SignedDecision | JsonRecord;
}

/** Takes the challenge that a browser's response answers. */
function taken(challenges: PasskeyChallenges, { token, response, subject }: Taking): Challenge {
  const answer = recordIn(response)["response"];
  const clientData = recordIn(answer)["clientDataJSON"];
  if (typeof clientData !== "string") throw malformed("the passkey's answer is not whole");
  const challenge = challengeIn(clientData);
  const found = challenge === undefined ? undefined : challenges.take(challenge, token, subject);
  if (found !== undefined) return found;
  throw refused("it signed something else, was used already, or took longer than five minutes");
}

function challengeIn(clientData: string): string | undefined {
  return textIn(parseRecord(Buffer.from(clientData, "base64url").toString("utf8"))?.["challenge"]);
}

/** Converts the library's errors, which it throws for any bad response, to refusals. */
async function judged<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify();
  } catch (error) {
    throw refused(
      error instanceof Error && error.message.startsWith("Response counter value")
        ? "its counter went back: somebody else may have a copy of it"
        : "it was not made for this console, or not as it should be",
    );
  }
}

function refused(reason: string): ConsoleFault {
  return new ConsoleFault(403, "passkey-refused", `the passkey was not accepted: ${reason}`);
}

/** The RP ID of passkeys, a host name: IP addresses are not allowed. */
function rpIdOf({ baseUrl }: Pick<ConsolePlace, "baseUrl">): string {
  return new URL(baseUrl).hostname;
}

function octetsOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, "base64url"));
}

/** Labels of COSE_Key.   RFC 9053 */
const LABEL = { alg: 3, crv: -1, x: -2, y: -3, n: -1, e: -2 } as const;

/** Converts a passkey's public key to a JWK, which every signature library reads.   RFC 9052, RFC 7517 */
function jwkOfCose(cose: Uint8Array<ArrayBuffer>): JsonRecord | undefined {
  const key = decodeCredentialPublicKey(cose) as unknown as ReadonlyMap<number, unknown>;
  const text = (label: number): string => {
    const value = key.get(label);
    return value instanceof Uint8Array ? Buffer.from(value).toString("base64url") : "";
  };
  switch (key.get(LABEL.alg)) {
    case -7:
      return { kty: "EC", crv: "P-256", alg: "ES256", x: text(LABEL.x), y: text(LABEL.y) };
    case -8:
      return { kty: "OKP", crv: "Ed25519", alg: "EdDSA", x: text(LABEL.x) };
    case -257:
      return { kty: "RSA", alg: "RS256", n: text(LABEL.n), e: text(LABEL.e) };
    default:
      return undefined;
  }
}
