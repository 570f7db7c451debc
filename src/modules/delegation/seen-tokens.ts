/**
 * Tokens that were taken: each is good for one task, whatever happens to the process meanwhile. Only
 * what a peer has signed gets here, for as long as it could be sent again, and so many of each peer.
 */
import { Collection } from "../../state/collection.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Store } from "../../state/store.ts";

interface SeenToken {
  readonly issuer: string;
  /** When nobody would believe it any more, in milliseconds since the epoch. */
  readonly until: number;
}

const MAX_PER_ISSUER = 10_000;
/**
 * The clock never steps back, but a process that was killed before its next record may not know how
 * far it had come: a token that was forgotten is not believed again by less than this.
 */
const CLOCK_STEP_MS = 3_600_000;

/** The outcome of taking a token. */
type Taken = "fresh" | "seen" | "full";

export class SeenTokens {
  readonly #seen: Collection<SeenToken>;

  private constructor(seen: Collection<SeenToken>) {
    this.#seen = seen;
  }

  /** Opens the register of a store; by `now`, tokens are believed as well as forgotten. */
  static async open(store: Store, now: () => number = Date.now): Promise<SeenTokens> {
    const seen = await Collection.open(store, {
      name: "delegation-tokens",
      read: recordReader<SeenToken>({ issuer: "string", until: "number" }),
      ownerOf: ({ issuer }) => issuer,
      orderOf: ({ until }) => until,
      forgottenAt: ({ until }) => until + CLOCK_STEP_MS,
      quota: { perOwner: MAX_PER_ISSUER },
      // A token that could be sent again is never forgotten.
      rankOf: ({ until }, at) => (until < at ? 0 : undefined),
      now,
    });
    return new SeenTokens(seen);
  }

  /** Resolves once it is kept; `until` is when nobody would believe the token any more. */
  async take(issuer: string, id: string, until: number): Promise<Taken> {
    const { kind } = await this.#seen.add(`${issuer} ${id}`, { issuer, until });
    if (kind === "taken") return "seen";
    return kind === "full" ? "full" : "fresh";
  }
}
