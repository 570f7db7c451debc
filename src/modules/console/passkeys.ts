/**
 * Passkeys of people at the console. Each person has a few; only the person and `agtpd passkeys --forget` remove one.
 */
import { randomBytes } from "node:crypto";
import type { JsonRecord } from "../../base/json-value.ts";
import { recentlyUsed } from "../../base/recently-used.ts";
import type { ProcessState } from "../../dispatch/process-state.ts";
import { challengeOf, type SignedDecision } from "../../identity/passkey-attestation.ts";
import type { Collection } from "../../state/collection.ts";
import { recordReader } from "../../state/records/stored-record.ts";

export interface Passkey {
  /** Credential id, base64url. */
  readonly id: string;
  readonly personId: string;
  /** Chosen by the person. */
  readonly name: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  /** The public key as a JWK, for records. */
  readonly jwk: JsonRecord;
  /** Signature counter; 0 if the passkey does not count. */
  readonly counter: number;
  readonly transports: readonly string[];
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly usedAt?: number;
}

/** Per person. */
export const MAX_PASSKEYS = 8;
const QUOTA = { openPerOwner: MAX_PASSKEYS, open: 1_000 };

/** The stored passkeys by id; each person is the owner of theirs. */
export type Passkeys = Collection<Passkey>;

/** Opens the passkeys of a store. */
export function openPasskeys({ collection }: Pick<ProcessState, "collection">): Promise<Passkeys> {
  return collection<Passkey>({
    name: "console-passkeys",
    read: recordReader<Passkey>({
      ...{ id: "string", personId: "string", name: "string", publicKey: "string", jwk: "object" },
      ...{ counter: "number", transports: "array", createdAt: "number" },
    }),
    ownerOf: ({ personId }) => personId,
    orderOf: ({ createdAt }) => createdAt,
    quota: QUOTA,
    // No passkey is evicted for another.
    rankOf: () => undefined,
  });
}

/** Returns the person's passkey with this id. */
export function findPasskey(passkeys: Passkeys, personId: string, id: string): Passkey | undefined {
  const passkey = passkeys.get(id);
  return passkey?.personId === personId ? passkey : undefined;
}

/** Stores a use. Returns false if the signature counter did not increase: somebody else may have the key. */
export async function notePasskeyUse(
  passkeys: Passkeys,
  id: string,
  counter: number,
): Promise<boolean> {
  const { isChanged } = await passkeys.change(id, (known) => {
    const isCounting = counter > 0 || known.counter > 0;
    if (isCounting && counter <= known.counter) return undefined;
    return { ...known, counter, usedAt: Date.now() };
  });
  return isChanged;
}

/** A passkey as the API shows it. */
export function passkeyView({ name, createdAt, usedAt }: Passkey): JsonRecord {
  return {
    ...{ name, created_at: new Date(createdAt).toISOString() },
    used_at: usedAt === undefined ? null : new Date(usedAt).toISOString(),
  };
}

/** A challenge that awaits its signature. */
export interface Challenge {
  /** Base64url, as in WebAuthn. */
  readonly challenge: string;
  readonly nonce: string;
}

const TTL_MS = 5 * 60_000;
const MAX_CHALLENGES = 1_024;

interface Waiting {
  readonly session: string;
  readonly nonce: string;
}

/**
 * Open challenges: each is for one session and one subject, and valid once, for five minutes. A bounded number is
 * kept, in memory only.
 */
export class PasskeyChallenges {
  readonly #waiting = recentlyUsed<Waiting>(MAX_CHALLENGES, TTL_MS);

  /** Creates a challenge; `session` is the session's token. */
  create(session: string, subject: SignedDecision | JsonRecord): Challenge {
    const nonce = randomBytes(32).toString("base64url");
    const challenge = challengeOf(subject, nonce);
    this.#waiting.set(challenge, { session, nonce });
    return { challenge, nonce };
  }

  /** Uses up a challenge, and returns it if it belongs to this session and subject. */
  take(
    challenge: string,
    session: string,
    subject: SignedDecision | JsonRecord,
  ): Challenge | undefined {
    const waiting = this.#waiting.get(challenge);
    this.#waiting.delete(challenge);
    if (waiting === undefined || waiting.session !== session) return undefined;
    const { nonce } = waiting;
    return challengeOf(subject, nonce) === challenge ? { challenge, nonce } : undefined;
  }
}
