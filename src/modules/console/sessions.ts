/**
 * Sessions of people at the console, known by the digest of a cookie. One ends by itself when it was
 * not used for `session_minutes`, at once when somebody logs out, and when nobody may have it any more.
 */
import { randomBytes } from "node:crypto";
import { isRecord } from "../../base/json-value.ts";
import type { ProcessState } from "../../dispatch/process-state.ts";
import type { Collection } from "../../state/collection.ts";
import { digestOf } from "./login-links.ts";
import { type Person, ROLES } from "./person.ts";

/** A session that stands. */
export interface Session {
  readonly person: Person;
  /** What every change says beside the cookie. */
  readonly csrf: string;
  /** Milliseconds since the epoch. */
  readonly usedAt: number;
}

/** A session, and the cookie's value. */
export interface SignedIn extends Session {
  readonly token: string;
}

/** The use of a session is noted no more often. */
const NOTED_EVERY_MS = 60_000;
const QUOTA = { perOwner: 32, all: 1_000 };

export class Sessions {
  readonly #kept: Collection<Session>;
  readonly #ttlMs: () => number;

  private constructor(kept: Collection<Session>, ttlMs: () => number) {
    this.#kept = kept;
    this.#ttlMs = ttlMs;
  }

  /** Opens those that are kept. */
  static async open(
    { collection }: Pick<ProcessState, "collection">,
    ttlMs: () => number,
  ): Promise<Sessions> {
    const kept = await collection<Session>({
      name: "console-sessions",
      read: readSession,
      ownerOf: ({ person }) => person.id,
      orderOf: ({ usedAt }) => usedAt,
      forgottenAt: ({ usedAt }) => usedAt + ttlMs(),
      quota: QUOTA,
    });
    return new Sessions(kept, ttlMs);
  }

  /** Begins one, and answers the cookie's value. */
  async begin(person: Person): Promise<string> {
    const token = randomBytes(32).toString("base64url");
    const csrf = randomBytes(32).toString("base64url");
    await this.#kept.add(digestOf(token), { person, csrf, usedAt: Date.now() });
    return token;
  }

  /** The session of a cookie; undefined: it is over, or never was. */
  find(token: string): Session | undefined {
    const session = this.#kept.get(digestOf(token));
    const isOver = session === undefined || session.usedAt + this.#ttlMs() <= Date.now();
    return isOver ? undefined : session;
  }

  /** Notes that a person did something with it. */
  async touch(token: string): Promise<void> {
    const now = Date.now();
    const session = this.find(token);
    if (session === undefined || now - session.usedAt < NOTED_EVERY_MS) return;
    await this.#kept.change(digestOf(token), (known) => ({ ...known, usedAt: now }));
  }

  /** Ends it. */
  async end(token: string): Promise<void> {
    await this.#kept.delete([digestOf(token)]);
  }
}

function readSession(value: unknown): Session | undefined {
  if (!isRecord(value)) return undefined;
  const { person, csrf, usedAt } = value;
  const isWhole = isPerson(person) && typeof csrf === "string" && typeof usedAt === "number";
  return isWhole ? { person, csrf, usedAt } : undefined;
}

function isPerson(value: unknown): value is Person {
  if (!isRecord(value)) return false;
  const { id, name, role, via } = value;
  const isNamed = typeof id === "string" && typeof name === "string";
  return isNamed && ROLES.some((one) => one === role) && (via === "link" || via === "oidc");
}
