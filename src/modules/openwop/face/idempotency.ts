/**
 * Layer 1: a request under the same Idempotency-Key is done once, however often and however at the
 * same time it comes, and through a kill. What was answered is kept in one commit with what it says.
 * OpenWOP "idempotency"
 */

import { isRecord } from "../../../base/json-value.ts";
import { sha256Hex } from "../../../identity/canonical-form.ts";
import { readAll } from "../../../state/read-all.ts";
import type { Change, Store } from "../../../state/store.ts";
import { type FaceAnswer, refuse } from "./answer.ts";

/** A request under a key. */
export interface KeyedRequest {
  readonly tenant: string;
  /** The routed operation, never the raw path. */
  readonly operation: string;
  readonly key: string;
  /** Of everything that makes it another request. */
  readonly digest: string;
}

/** Does it; what `keep` gives is committed together with what is done. */
export type Execute = (keep: (answer: FaceAnswer) => readonly Change[]) => Promise<FaceAnswer>;

interface KeptAnswer {
  readonly tenant: string;
  readonly digest: string;
  readonly at: number;
  readonly answer: FaceAnswer;
}

interface Running {
  readonly digest: string;
  readonly answer: Promise<FaceAnswer>;
}

/** What tests choose. */
export interface IdempotencyOptions {
  /** Milliseconds since the epoch. */
  now?(): number;
}

const COLLECTION = "openwop-idempotency";
const KEPT_MS = 48 * 3_600_000;
const MAX_PER_TENANT = 10_000;
const REPLAYED = { "openwop-Idempotent-Replay": "true" };

export class Idempotency {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #running = new Map<string, Running>();
  /** By tenant, then by id, the oldest first: when it was kept. */
  readonly #kept = new Map<string, Map<string, number>>();

  private constructor(store: Store, { now = Date.now }: IdempotencyOptions) {
    this.#store = store;
    this.#now = now;
  }

  /** Opens what an earlier process kept. */
  static async open(store: Store, options: IdempotencyOptions = {}): Promise<Idempotency> {
    const opened = new Idempotency(store, options);
    const found: [string, KeptAnswer][] = [];
    for await (const { key, value } of readAll(store, COLLECTION)) {
      if (isRecord(value)) found.push([key, value as unknown as KeptAnswer]);
    }
    found.sort(([, left], [, right]) => left.at - right.at);
    for (const [id, { tenant, at }] of found) opened.#remember(tenant, id, at);
    return opened;
  }

  /** Answers as the first time, or does it. */
  async run(request: KeyedRequest, execute: Execute): Promise<FaceAnswer> {
    const id = idOf(request);
    const running = this.#running.get(id);
    if (running !== undefined) {
      if (running.digest !== request.digest) return mismatch();
      const shared = await running.answer;
      return isFinal(shared) ? replay(shared) : shared;
    }
    const answer = this.#answer(id, request, execute);
    this.#running.set(id, { digest: request.digest, answer });
    try {
      return await answer;
    } finally {
      this.#running.delete(id);
    }
  }

  async #answer(id: string, request: KeyedRequest, execute: Execute): Promise<FaceAnswer> {
    const { tenant, digest } = request;
    const before = await this.#read(tenant, id);
    if (before !== undefined) {
      return before.digest === digest ? replay(before.answer) : mismatch();
    }
    let kept: FaceAnswer | undefined;
    const answer = await execute((said) => {
      kept = said;
      return this.#changesFor(id, request, said);
    });
    if (answer !== kept && isFinal(answer)) {
      await this.#store.commit(this.#changesFor(id, request, answer));
    }
    if (answer === kept || isFinal(answer)) this.#remember(tenant, id, this.#now());
    return answer;
  }

  async #read(tenant: string, id: string): Promise<KeptAnswer | undefined> {
    const at = this.#kept.get(tenant)?.get(id);
    if (at === undefined || at + KEPT_MS < this.#now()) return undefined;
    const value = await this.#store.get(COLLECTION, id);
    return isRecord(value) ? (value as unknown as KeptAnswer) : undefined;
  }

  #changesFor(id: string, { tenant, digest }: KeyedRequest, answer: FaceAnswer): readonly Change[] {
    const value: KeptAnswer = { tenant, digest, at: this.#now(), answer };
    const put: Change = { kind: "put", collection: COLLECTION, key: id, value };
    return [...this.#takeOld(tenant), put];
  }

  /** What is too old, or one too many. */
  #takeOld(tenant: string): readonly Change[] {
    const kept = this.#kept.get(tenant) ?? new Map<string, number>();
    const old: string[] = [];
    let left = kept.size;
    for (const [id, at] of kept) {
      if (left < MAX_PER_TENANT && at + KEPT_MS >= this.#now()) break;
      old.push(id);
      left -= 1;
    }
    for (const id of old) kept.delete(id);
    return old.map((key) => ({ kind: "delete", collection: COLLECTION, key }));
  }

  #remember(tenant: string, id: string, at: number): void {
    const kept = this.#kept.get(tenant) ?? new Map<string, number>();
    this.#kept.set(tenant, kept);
    kept.delete(id);
    kept.set(id, at);
  }
}

/** Keys are their owners' secrets: only a digest is kept. */
function idOf({ tenant, operation, key }: KeyedRequest): string {
  return sha256Hex(`${tenant}\0${operation}\0${key}`);
}

/** Whether asking again would bring the same; what a client can mend, or try later, is not kept. */
function isFinal({ status, headers = {} }: FaceAnswer): boolean {
  return status < 500 && ![400, 401, 403].includes(status) && !("Retry-After" in headers);
}

function replay(answer: FaceAnswer): FaceAnswer {
  return { ...answer, headers: { ...answer.headers, ...REPLAYED } };
}

function mismatch(): FaceAnswer {
  const message = "this Idempotency-Key was used for another request";
  return refuse(409, "idempotency_key_mismatch", message);
}
