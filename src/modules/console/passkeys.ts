/**
 * Passkeys of people at the console: which keys sign for whom. A person has a few; nothing makes one
 * go but the person who has it, and `agtpd passkeys --forget`.
 */
import { randomBytes } from "node:crypto";
import type { JsonRecord } from "../../base/json-value.ts";
import { recentlyUsed } from "../../base/recently-used.ts";
import type { ProcessState } from "../../dispatch/process-state.ts";
import { challengeOf, type SignedDecision } from "../../identity/passkey-attestation.ts";
import type { Collection } from "../../state/collection.ts";
import { recordReader } from "../../state/records/stored-record.ts";

export interface Passkey {
  /** Its credential's, base64url. */
  readonly id: string;
  readonly personId: string;
  /** As the person calls it. */
  readonly name: string;
  /** In COSE, base64url. */
  readonly publicKey: string;
  /** The public key as a JWK, for records. */
  readonly jwk: JsonRecord;
  /** The number of its signatures; 0 where it does not count. */
  readonly counter: number;
  readonly transports: readonly string[];
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly usedAt?: number;
}

/** Nobody needs more. */
export const MAX_PASSKEYS = 8;
const QUOTA = { openPerOwner: MAX_PASSKEYS, open: 1_000 };

/** Those that are kept, by their ids; people are their owners. */
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
    // None goes for another.
    rankOf: () => undefined,
  });
}

/** A person's by its id. */
export function findPasskey(passkeys: Passkeys, personId: string, id: string): Passkey | undefined {
  const passkey = passkeys.get(id);
  return passkey?.personId === personId ? passkey : undefined;
}

/** Notes a signature. False: its counter did not go on, so that somebody else may have the key. */
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

/** A passkey as people see it. */
export function passkeyView({ name, createdAt, usedAt }: Passkey): JsonRecord {
  return {
    ...{ name, created_at: new Date(createdAt).toISOString() },
    used_at: usedAt === undefined ? null : new Date(usedAt).toISOString(),
  };
}

/** A challenge that waits for its signature. */
export interface Challenge {
  /** Base64url, as WebAuthn has it. */
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
 * Challenges that passkeys are to sign: each for one session and one subject, good once and for five
 * minutes. They are in memory alone, as many as a person can be in the middle of.
 */
export class PasskeyChallenges {
  readonly #waiting = recentlyUsed<Waiting>(MAX_CHALLENGES, TTL_MS);

  /** A new one; `session` is the session's token. */
  create(session: string, subject: SignedDecision | JsonRecord): Challenge {
    const nonce = randomBytes(32).toString("base64url");
    const challenge = challengeOf(subject, nonce);
    this.#waiting.set(challenge, { session, nonce });
    return { challenge, nonce };
  }

  /** The one that was signed, if it is this session's and about this; it is used up in any case. */
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
