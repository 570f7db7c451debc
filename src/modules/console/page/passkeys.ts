/**
 * Passkeys on the page: a person who has one signs each approval with it. The page itself computes what is signed, so
 * that the signature covers only what the person has seen and written.
 */
import type { Escalation } from "../answers.ts";
import { ApiError, post, session } from "./api.ts";
import { callOf, isObject } from "./parts/call-view.ts";
import { loadPasskeys } from "./preact.ts";
import { sha256 } from "./records/examine-record.ts";

const OUTDATED =
  "The console's part for passkeys does not load: it may have been updated since this page was opened. Load the page again.";

/** The decision to sign, as the page shows it. */
interface Decided {
  readonly escalation_id: string;
  readonly decision: string;
  /** Undefined if the page does not show the escalation itself. */
  readonly escalation?: Escalation;
  /** The answer that the decision carries. */
  readonly answer?: Answer;
}

/** The answer for an upstream or a run, by the member that carries it. */
export type Answer = Readonly<Partial<Record<"content" | "resume_value", unknown>>>;

/** The subject for which the daemon makes a challenge. */
type Subject = Readonly<Record<string, unknown>>;

type Passkeys = Awaited<ReturnType<typeof loadPasskeys>>;
type RegistrationOptions = Parameters<Passkeys["startRegistration"]>[0]["optionsJSON"];
type SigningOptions = Parameters<Passkeys["startAuthentication"]>[0]["optionsJSON"];

/** A challenge from the daemon. */
interface Offered {
  readonly options: SigningOptions;
  readonly nonce: string;
}

let known: boolean | undefined;

/** Stores that the person has a passkey now, or none. */
export function notePasskeys(hasOne: boolean): void {
  known = hasOne;
}

/** Sends a decision, with the person's signature if it needs one. @throws ApiError */
export function postDecision<T>(path: string, body: object, decided: Decided): Promise<T> {
  const { escalation_id, decision, answer = {} } = decided;
  const whole = { ...body, ...answer };
  if (decision !== "accepted") return post<T>(path, whole);
  const subject = { for: "decision", escalation_id, decision, ...answer };
  return postSigned<T>(path, whole, subject, (offered) => checkChallenge(offered, decided));
}

/** Sends a change, with a signature if the person has a passkey. @throws ApiError */
export async function postSigned<T>(
  path: string,
  body: object,
  subject: Subject,
  check?: (offered: Offered) => Promise<void>,
): Promise<T> {
  const hasOne = known ?? session().has_passkey;
  const signed = async () => ({ ...body, assertion: await sign(subject, check) });
  try {
    return await post<T>(path, hasOne ? await signed() : body);
  } catch (error) {
    const code = error instanceof ApiError ? error.code : "";
    if (code !== (hasOne ? "no-passkey" : "passkey-required")) throw error;
  }
  notePasskeys(!hasOne);
  return post<T>(path, hasOne ? body : await signed());
}

/** Creates and registers a passkey; an existing one must sign for a further one. */
export async function registerPasskey(name: string, hasOne: boolean): Promise<void> {
  const assertion = hasOne ? { assertion: await sign({ for: "addition" }) } : {};
  const { options } = await post<{ options: RegistrationOptions }>("/api/passkeys/challenge", {
    for: "registration",
  });
  const { startRegistration } = await passkeys();
  const registration = await startRegistration({ optionsJSON: options });
  await post("/api/passkeys", { name, registration, ...assertion });
  notePasskeys(true);
}

async function sign(
  subject: Subject,
  check: (offered: Offered) => Promise<void> = async () => undefined,
): Promise<object> {
  const offered = await post<Offered>("/api/passkeys/challenge", subject);
  await check(offered);
  const { startAuthentication } = await passkeys();
  return startAuthentication({ optionsJSON: offered.options });
}

/** Loads the library; fails if the console was upgraded while the page was open. */
async function passkeys(): Promise<Passkeys> {
  try {
    return await loadPasskeys();
  } catch {
    throw new ApiError(0, "page-outdated", OUTDATED);
  }
}

/** Checks that a challenge matches what the page shows. @throws ApiError */
async function checkChallenge(
  { options: { challenge }, nonce }: Offered,
  { escalation_id, decision, escalation, answer = {} }: Decided,
): Promise<void> {
  if (escalation === undefined) return;
  const digests: Record<string, string> = {};
  for (const [name, value] of Object.entries(answer)) {
    digests[`${name}_digest`] = await digestOf(value);
  }
  const digest = await questionDigest(escalation);
  const subject = { escalation_id, digest, decision, ...digests, nonce };
  if (challenge === toBase64url(await sha256(octetsOf(subject)))) return;
  const message = "the daemon asks for a signature over something else than this page shows";
  throw new ApiError(0, "other-challenge", message);
}

/** The digest of the call to approve, or of the question if there is no call. */
function questionDigest(escalation: Escalation): Promise<string> {
  const { escalation_id, agent_id, reason = null, context } = escalation;
  return digestOf(callOf(escalation) ?? { escalation_id, agent_id, reason, context });
}

async function digestOf(value: unknown): Promise<string> {
  return `sha256:${await sha256(octetsOf(value))}`;
}

function octetsOf(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(canonicalText(value));
}

/** Writes JSON in canonical form.   RFC 8785 */
function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${canonicalText(value[name])}`);
  return `{${members.join(",")}}`;
}

/** Converts hex to base64url. */
function toBase64url(hex: string): string {
  const octets = hex.match(/../g) ?? [];
  const text = String.fromCharCode(...octets.map((one) => Number.parseInt(one, 16)));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
