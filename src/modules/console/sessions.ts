/**
 * Sessions of people at the console, known by the digest of a cookie. One ends by itself when it was
 * not used for `session_minutes`, at once when somebody logs out, and when nobody may have it any more.
 * With them the links that begin one.
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
  /** The token that every change carries beside the cookie. */
  readonly csrf: string;
  /** Milliseconds since the epoch. */
  readonly usedAt: number;
  /** Why the person has the role, where a provider's claims gave it. */
  readonly grant?: Grant;
}

/** A session, and the cookie's value. */
export interface SignedIn extends Session {
  readonly token: string;
}

/** The use of a session is noted no more often, and four times in the time that it may go unused. */
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

  /** Opens those that are kept; the rules may change while they are open. */
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

  /** Begins one, which every node has then, and answers the cookie's value. */
  async begin(person: Person, grant?: Grant): Promise<string> {
    const token = randomBytes(32).toString("base64url");
    const csrf = randomBytes(32).toString("base64url");
    const session = { person, csrf, usedAt: Date.now(), ...(grant && { grant }) };
    const key = hash("sha256", token);
    await this.#kept.add(key, session);
    await this.#kept.everywhere(key);
    return token;
  }

  /** The session of a cookie; undefined: it is over, or never was. */
  find(token: string): Session | undefined {
    const session = this.#kept.get(hash("sha256", token));
    const isOver = session === undefined || overAt(session, this.#rules) <= Date.now();
    return isOver ? undefined : session;
  }

  /** Notes that a person did something with it; a store that fails keeps nobody from looking. */
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

  /** Ends it; no node has it any more then. */
  async end(token: string): Promise<void> {
    await this.#kept.deleteEverywhere([hash("sha256", token)]);
  }

  /** Ends for good those that the rules end, which other rules could let stand again. */
  async sweep(): Promise<void> {
    await this.#kept.deleteOverdue();
  }
}

/** When a session is over; at once where nobody has its role for that reason any more. */
function overAt({ person, grant, usedAt }: Session, rules: SessionRules): number {
  const { oidc } = inForce(rules);
  const isStanding = person.via !== "oidc" || (grant && isGranted(person, grant, oidc));
  return isStanding === true ? usedAt + unusedMs(rules) : 0;
}

/** How long a session stands that is not used. */
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

/** The rules in force: one in a process; each deployment that begins to be served brings its own. */
export interface SessionRules {
  /** Undefined before the first. */
  current: Rules | undefined;
}

const TTL_MS = 5 * 60_000;
/** Nobody needs as many at a time; the oldest goes. */
const MAX_LINKS = 64;

/**
 * Links that sign a person in: made by whoever may use the control socket, good for one use and for
 * five minutes. Only a digest of each is kept, and in memory alone: a restart ends them all.
 */
export class LoginLinks {
  readonly #links = recentlyUsed<Person>(MAX_LINKS, TTL_MS);

  /** The secret of a new link. */
  create(person: Person): string {
    const token = randomBytes(32).toString("base64url");
    this.#links.set(hash("sha256", token), person);
    return token;
  }

  /** The person that a link signs in; it uses nothing up. */
  find(token: string): Person | undefined {
    return this.#links.peek(hash("sha256", token));
  }

  /** Finds the person of a link, and uses the link up. */
  redeem(token: string): Person | undefined {
    const person = this.find(token);
    this.#links.delete(hash("sha256", token));
    return person;
  }
}
