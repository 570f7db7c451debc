/**
 * Links that sign a person in: made by whoever may use the control socket, good for one use and for
 * five minutes. Only a digest of each is kept, and in memory alone: a restart ends them all.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Person } from "./person.ts";

const TTL_MS = 5 * 60_000;
/** Nobody needs as many at a time; the oldest goes. */
const MAX_LINKS = 64;

interface Link {
  readonly person: Person;
  readonly until: number;
}

export class LoginLinks {
  readonly #links = new Map<string, Link>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** The secret of a new link. */
  create(person: Person): string {
    const token = randomBytes(32).toString("base64url");
    for (const [key, { until }] of this.#links) {
      if (until <= this.#now() || this.#links.size >= MAX_LINKS) this.#links.delete(key);
    }
    this.#links.set(digestOf(token), { person, until: this.#now() + TTL_MS });
    return token;
  }

  /** The person that a link signs in; it uses nothing up. */
  find(token: string): Person | undefined {
    const link = this.#links.get(digestOf(token));
    return link === undefined || link.until <= this.#now() ? undefined : link.person;
  }

  /** Finds the person of a link, and uses the link up. */
  redeem(token: string): Person | undefined {
    const person = this.find(token);
    this.#links.delete(digestOf(token));
    return person;
  }
}

/** The key of a secret, from which nobody gets the secret. */
export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
