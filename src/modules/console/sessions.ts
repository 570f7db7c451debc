/**
 * Sessions at the console, stored by the digest of their cookie. A session ends after `session_minutes` without use,
 * at once on log-out, and at once when the person's role is withdrawn. Also the one-time links that begin one.
 */
import { hash, randomBytes } from "node:crypto";
import { isRecord } from "../../base/json-value.ts";
import { recentlyUsed } from "../../base/recently-used.ts";
import type { ProcessState } from "../../dispatch/process-state.ts";
import type { Collection } from "../../state/collection.ts";
import { exceptStoreFaults } from "../../state/store-fault.ts";
import type { ConsoleConfig } from "./config.ts";
import { type Grant, isGranted, type Person, ROLES } from "./person.ts";

export interface Session {
  readonly person: Person;
  /** CSRF token that every change carries in addition to the cookie. */
  readonly csrf: string;
  /** Milliseconds since the epoch. */
  readonly usedAt: number;
  /** The reason for the role, if a provider's claims gave it. */
  readonly grant?: Grant;
}

/** A session with its cookie's value. */
export interface SignedIn extends Session {
  readonly token: string;
}

/** A session's use is stored at most this often, and at least four times per idle timeout. */
const NOTED_EVERY_MS = 60_000;
const NOTES = 4;
const QUOTA = { perOwner: 32, all: 1_000 };

export class Sessions {
  readonly #kept: Collection<Session>;
  readonly #rules: SessionRules;

  private constructor(kept: Collection<Session>, rules: SessionRules) {
    this.#kept = kept;
    this.#rules = rules;
  }

  /** Opens the stored sessions; the rules may change while they are open. */
  static async open(
    { collection }: Pick<ProcessState, "collection">,
    rules: SessionRules,
  ): Promise<Sessions> {
    const kept = await collection<Session>({
      name: "console-sessions",
      read: readSession,
      ownerOf: ({ person }) => person.id,
      orderOf: ({ usedAt }) => usedAt,
      forgottenAt: (session) => overAt(session, rules),
      quota: QUOTA,
    });
    return new Sessions(kept, rules);
  }

  /** Begins a session on every node, and returns the cookie's value. */
  async begin(person: Person, grant?: Grant): Promise<string> {
    const token = randomBytes(32).toString("base64url");
    const csrf = randomBytes(32).toString("base64url");
    const session = { person, csrf, usedAt: Date.now(), ...(grant && { grant }) };
    const key = hash("sha256", token);
    await this.#kept.add(key, session);
    await this.#kept.everywhere(key);
    return token;
  }

  /** Returns the session of a cookie; undefined if it is over or unknown. */
  find(token: string): Session | undefined {
    const session = this.#kept.get(hash("sha256", token));
    const isOver = session === undefined || overAt(session, this.#rules) <= Date.now();
    return isOver ? undefined : session;
  }

  /** Stores a use of the session; if the store fails, reading still works. */
  async touch(token: string): Promise<void> {
    const now = Date.now();
    const session = this.find(token);
    if (session === undefined) return;
    const notedEvery = Math.min(NOTED_EVERY_MS, unusedMs(this.#rules) / NOTES);
    if (now - session.usedAt < notedEvery) return;
    await this.#kept
      .change(hash("sha256", token), (known) => ({ ...known, usedAt: now }))
      .catch(
        exceptStoreFaults((error) => {
          throw error;
        }),
      );
  }

  /** Ends a session on every node. */
  async end(token: string): Promise<void> {
    await this.#kept.deleteEverywhere([hash("sha256", token)]);
  }

  /** Deletes the sessions that the current rules end, so that later rules cannot revive them. */
  async sweep(): Promise<void> {
    await this.#kept.deleteOverdue();
  }
}

/** The time at which a session ends; 0 if the person no longer has the role for the same reason. */
function overAt({ person, grant, usedAt }: Session, rules: SessionRules): number {
  const { oidc } = inForce(rules);
  const isStanding = person.via !== "oidc" || (grant && isGranted(person, grant, oidc));
  return isStanding === true ? usedAt + unusedMs(rules) : 0;
}

/** The idle timeout. */
function unusedMs(rules: SessionRules): number {
  return inForce(rules).sessionMinutes * 60_000;
}

function inForce({ current }: SessionRules): Rules {
  if (current === undefined) throw new Error("no rules are in force yet");
  return current;
}

function readSession(value: unknown): Session | undefined {
  if (!isRecord(value)) return undefined;
  const { person, csrf, usedAt, grant } = value;
  const isWhole = isPerson(person) && typeof csrf === "string" && typeof usedAt === "number";
  return isWhole ? { person, csrf, usedAt, ...(isGrant(grant) && { grant }) } : undefined;
}

function isGrant(value: unknown): value is Grant {
  if (!isRecord(value)) return false;
  const { issuer, claim, value: entry } = value;
  return [issuer, claim, entry].every((one) => typeof one === "string");
}

function isPerson(value: unknown): value is Person {
  if (!isRecord(value)) return false;
  const { id, name, role, via } = value;
  const isNamed = typeof id === "string" && typeof name === "string";
  return isNamed && ROLES.some((one) => one === role) && (via === "link" || via === "oidc");
}

type Rules = Pick<ConsoleConfig, "sessionMinutes" | "oidc">;

/** The rules in force, one per process; each deployment that starts to serve replaces them. */
export interface SessionRules {
  /** Undefined before the first deployment. */
  current: Rules | undefined;
}

const TTL_MS = 5 * 60_000;
/** Beyond it the oldest link is dropped. */
const MAX_LINKS = 64;

/**
 * Sign-in links, made over the control socket, valid once and for five minutes. Only a digest of each is kept, in
 * memory, so a restart ends them all.
 */
export class LoginLinks {
  readonly #links = recentlyUsed<Person>(MAX_LINKS, TTL_MS);

  /** Creates a link, and returns its secret. */
  create(person: Person): string {
    const token = randomBytes(32).toString("base64url");
    this.#links.set(hash("sha256", token), person);
    return token;
  }

  /** Returns the person that a link signs in, without using the link up. */
  find(token: string): Person | undefined {
    return this.#links.peek(hash("sha256", token));
  }

  /** Returns the person of a link, and uses the link up. */
  redeem(token: string): Person | undefined {
    const person = this.find(token);
    this.#links.delete(hash("sha256", token));
    return person;
  }
}
