/**
 * Tokens that were taken: each is good for one task, whatever happens to the process meanwhile. Only
 * what a peer has signed gets here, for as long as it could be sent again, and so many of each peer.
 */
import type { Store } from "../store/store.ts";

const COLLECTION = "delegation-tokens";
const MAX_PER_ISSUER = 10_000;

/** What taking a token came to. */
export type Taken = "fresh" | "seen" | "full";

export class SeenTokens {
  readonly #store: Store;
  /** By issuer and id: until when it is remembered, in milliseconds since the epoch. */
  readonly #seen = new Map<string, { readonly issuer: string; readonly until: number }>();
  readonly #counts = new Map<string, number>();

  private constructor(store: Store) {
    this.#store = store;
  }

  /** Opens the register of a store. */
  static async open(store: Store): Promise<SeenTokens> {
    const tokens = new SeenTokens(store);
    for (const { key, value } of await store.list(COLLECTION)) {
      const { issuer, until } = value as { readonly issuer: string; readonly until: number };
      tokens.#remember(key, issuer, until);
    }
    return tokens;
  }

  /** Resolves once it is kept; `until` is when nobody would believe the token any more. */
  async take(issuer: string, id: string, until: number, now: number): Promise<Taken> {
    const key = `${issuer} ${id}`;
    if (this.#seen.has(key)) return "seen";
    const gone = this.#forgetOld(now);
    if ((this.#counts.get(issuer) ?? 0) >= MAX_PER_ISSUER) return "full";
    // At once: the same token must not be taken again while the disk is slow.
    this.#remember(key, issuer, until);
    await this.#store.commit([
      { kind: "put", collection: COLLECTION, key, value: { issuer, until } },
      ...gone.map((old) => ({ kind: "delete", collection: COLLECTION, key: old }) as const),
    ]);
    return "fresh";
  }

  #remember(key: string, issuer: string, until: number): void {
    this.#seen.set(key, { issuer, until });
    this.#counts.set(issuer, (this.#counts.get(issuer) ?? 0) + 1);
  }

  /** Tokens come in about the order in which they expire: looking at the first ones is enough. */
  #forgetOld(now: number): readonly string[] {
    const gone: string[] = [];
    let looked = 0;
    for (const [key, { issuer, until }] of this.#seen) {
      looked += 1;
      if (looked > 100) break;
      if (until > now) continue;
      this.#seen.delete(key);
      this.#counts.set(issuer, (this.#counts.get(issuer) ?? 1) - 1);
      gone.push(key);
    }
    return gone;
  }
}
