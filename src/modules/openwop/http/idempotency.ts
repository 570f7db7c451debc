/**
 * Layer 1: a request with an Idempotency-Key is executed once, even if it is repeated concurrently or after a kill. The
 * answer is committed together with the changes that it reports.   OpenWOP "idempotency"
 */

import { hash } from "node:crypto";
import { Collection } from "../../../state/collection.ts";
import { type AlsoChange, AlsoTakenError, type Draft } from "../../../state/collection-write.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
import type { ViewLease } from "../../../state/state.ts";
import type { Change, Store } from "../../../state/store.ts";
import { type ApiAnswer, refuse } from "./answer.ts";

interface KeyedRequest {
  readonly tenant: string;
  /** The routed operation, never the raw path. */
  readonly operation: string;
  readonly key: string;
  /** The digest of the parameters and body. */
  readonly digest: string;
}

/** Executes the operation; the changes that `keep` returns are committed with the operation's own. */
type Execute = (keep: (answer: ApiAnswer) => readonly AlsoChange[]) => Promise<ApiAnswer>;

/** A stored answer's key; the body is read from the store on demand. */
interface KeptKey {
  readonly tenant: string;
  readonly digest: string;
  readonly at: number;
}

interface KeptAnswer extends KeptKey {
  readonly answer: ApiAnswer;
}

interface Running {
  readonly digest: string;
  readonly answer: Promise<ApiAnswer>;
}

/** The clock, which only tests replace. */
interface IdempotencyOptions {
  /** Milliseconds since the epoch. */
  now?(): number;
}

const COLLECTION = "openwop-idempotency";
const KEPT_MS = 48 * 3_600_000;
const MAX_PER_TENANT = 10_000;
const REPLAYED = { "openwop-Idempotent-Replay": "true" };

export class Idempotency {
  readonly #store: Store;
  readonly #kept: Collection<KeptKey>;
  readonly #running = new Map<string, Running>();

  private constructor(store: Store, kept: Collection<KeptKey>) {
    this.#store = store;
    this.#kept = kept;
  }

  /** Opens the stored keys. */
  static async open(
    store: Store,
    { now = Date.now }: IdempotencyOptions = {},
  ): Promise<Idempotency> {
    const kept = await Collection.open(store, {
      name: COLLECTION,
      read: readKey,
      ownerOf: ({ tenant }) => tenant,
      orderOf: ({ at }) => at,
      forgottenAt: ({ at }) => at + KEPT_MS,
      quota: { perOwner: MAX_PER_TENANT },
      now,
    });
    return new Idempotency(store, kept);
  }

  /**
   * Replays the first answer, or executes the request.
   * @throws StoreUnavailableError if it is unknown whether the request was executed
   */
  async run(
    request: KeyedRequest,
    execute: Execute,
    view: Pick<ViewLease, "catchUp">,
  ): Promise<ApiAnswer> {
    const id = idOf(request);
    const running = this.#running.get(id);
    if (running !== undefined) {
      if (running.digest !== request.digest) return mismatch();
      const shared = await running.answer;
      return isFinal(shared) ? replay(shared) : shared;
    }
    const answer = this.#look(id, view).then(() => this.#answer(id, request, execute));
    this.#running.set(id, { digest: request.digest, answer });
    try {
      return await answer;
    } finally {
      this.#running.delete(id);
    }
  }

  /** Takes in changes of other nodes, one of which may have just answered. */
  async #look(id: string, view: Pick<ViewLease, "catchUp">): Promise<void> {
    if (this.#kept.get(id) === undefined) await view.catchUp?.();
  }

  async #answer(id: string, request: KeyedRequest, execute: Execute): Promise<ApiAnswer> {
    const before = await this.#replay(id, request);
    if (before !== undefined) return before;
    try {
      return await this.#execute(id, request, execute);
    } catch (error) {
      if (!(error instanceof AlsoTakenError)) throw error;
      // Another node was first, and nothing was executed here.
      await this.#kept.refresh();
      const sooner = await this.#replay(id, request);
      if (sooner === undefined) throw error;
      return sooner;
    }
  }

  async #replay(id: string, { digest }: KeyedRequest): Promise<ApiAnswer | undefined> {
    const known = this.#kept.get(id);
    if (known !== undefined && known.digest !== digest) return mismatch();
    const before = known && readAnswer(await this.#store.get(COLLECTION, id));
    return before && replay(before.answer);
  }

  async #execute(id: string, request: KeyedRequest, execute: Execute): Promise<ApiAnswer> {
    let kept: ApiAnswer | undefined;
    const drafts: Draft[] = [];
    const before = this.#kept.get(id);
    const keep = (answer: ApiAnswer): readonly AlsoChange[] => {
      // Another node has answered: a draft made now would be guarded by its revision and overwrite it.
      if (this.#kept.get(id) !== before)
        throw new AlsoTakenError({ collection: COLLECTION, key: id });
      kept = answer;
      const draft = this.#kept.draft(id, this.#entryOf(request, answer), { isGuarded: true });
      if (draft === undefined) return [];
      drafts.push(draft);
      const [{ revision: expected } = { revision: 0 }] = draft.expectations;
      const isOwn = ({ collection, key }: Change) => collection === COLLECTION && key === id;
      return draft.changes.map((change) => (isOwn(change) ? { ...change, expected } : change));
    };
    try {
      const answer = await execute(keep);
      // Already committed with the operation's changes.
      if (answer === kept) await this.#kept.refresh();
      else if (isFinal(answer)) await this.#kept.add(id, this.#entryOf(request, answer));
      return answer;
    } finally {
      for (const draft of drafts) draft.release();
    }
  }

  #entryOf({ tenant, digest }: KeyedRequest, answer: ApiAnswer): KeptAnswer {
    return { tenant, digest, at: this.#kept.now(), answer };
  }
}

const readAnswer = recordReader<KeptAnswer>({ answer: "object" });
const readWhole = recordReader<KeptAnswer>({ tenant: "string", digest: "string", at: "number" });

function readKey(value: unknown): KeptKey | undefined {
  const whole = readWhole(value);
  return whole && { tenant: whole.tenant, digest: whole.digest, at: whole.at };
}

/** Keys are their owners' secrets, so only a digest is stored. */
function idOf({ tenant, operation, key }: KeyedRequest): string {
  return hash("sha256", `${tenant}\0${operation}\0${key}`);
}

/** Tells whether a repeat would get the same answer; those that can be corrected or retried are not stored. */
function isFinal({ status, headers = {} }: ApiAnswer): boolean {
  return status < 500 && ![400, 401, 403].includes(status) && !("Retry-After" in headers);
}

function replay(answer: ApiAnswer): ApiAnswer {
  return { ...answer, headers: { ...answer.headers, ...REPLAYED } };
}

function mismatch(): ApiAnswer {
  const message = "this Idempotency-Key was used for another request";
  return refuse(409, "idempotency_key_mismatch", message);
}
