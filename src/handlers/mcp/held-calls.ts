/**
 * The calls of one server, and those that wait for answers: so many at once and no more, fewer of one
 * caller, and each for a time, because the server's own resources wait with them. A question beyond
 * that is declined, and so is one that nobody can tell whose it is: a server of the older protocol
 * does not say which call it asks in. What waits ends with its connection.
 */
import { randomUUID } from "node:crypto";
import type { JsonRecord } from "../../base/json-value.ts";
import {
  type CallListener,
  type CallOutcome,
  DECLINED,
  HeldCall,
  type RunCall,
} from "./held-call.ts";

/** How many may wait, and how long. */
export interface HeldLimits {
  readonly calls: number;
  readonly perCaller: number;
  readonly ms: number;
}

/** The limits of every server's held calls. */
export const HELD_LIMITS: HeldLimits = { calls: 16, perCaller: 4, ms: 600_000 };

interface Waiting {
  readonly call: HeldCall;
  readonly caller: string;
  readonly timer: NodeJS.Timeout;
}

export class HeldCalls {
  readonly #limits: HeldLimits;
  /** Calls that somebody waits for; without a caller, nobody could come back. */
  readonly #followed = new Map<HeldCall, string | undefined>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #listeners = new Set<(id: string) => void>();
  #isClosed = false;

  constructor(limits: HeldLimits = HELD_LIMITS) {
    this.#limits = limits;
  }

  /** Tells whether a call waits for its answer. */
  has(id: string): boolean {
    return this.#waiting.has(id);
  }

  /** Begins a call. */
  begin(run: RunCall, caller: string | undefined, listener: CallListener): Promise<CallOutcome> {
    const call = new HeldCall();
    return this.#follow(call, caller, () => call.begin(run, listener));
  }

  /** Goes on with a call by the answer to its question; undefined: it is gone. */
  resume(
    id: string,
    content: JsonRecord,
    listener: CallListener,
  ): Promise<CallOutcome> | undefined {
    const waiting = this.#release(id);
    if (waiting === undefined) return undefined;
    const { call, caller } = waiting;
    return this.#follow(call, caller, () => call.resume(content, listener));
  }

  /** Ends a call that waits: it gets no answer. */
  drop(id: string): void {
    this.#release(id)?.call.drop();
  }

  /** Ends those that wait, and holds none from now on: nobody could come back to them. */
  close(): void {
    this.#isClosed = true;
    for (const id of [...this.#waiting.keys()]) this.drop(id);
  }

  /** Takes a question of the server; resolves to the reply. */
  async question(question: JsonRecord): Promise<JsonRecord> {
    const [only, ...others] = this.#followed;
    if (this.#isClosed || only === undefined || others.length > 0) return DECLINED;
    const [call, caller] = only;
    if (caller === undefined || !this.#hasRoom(caller)) return DECLINED;
    const id = randomUUID();
    const timer = setTimeout(() => this.drop(id), this.#limits.ms).unref();
    this.#waiting.set(id, { call, caller, timer });
    call.onFailed(() => this.#lose(id));
    return call.ask(id, question);
  }

  /** Tells of calls that have ended before their answer came; answers how to end it. */
  onLost(listener: (id: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #follow(
    call: HeldCall,
    caller: string | undefined,
    work: () => Promise<CallOutcome>,
  ): Promise<CallOutcome> {
    this.#followed.set(call, caller);
    try {
      return await work();
    } finally {
      this.#followed.delete(call);
    }
  }

  #hasRoom(caller: string): boolean {
    const own = [...this.#waiting.values()].filter((one) => one.caller === caller);
    return this.#waiting.size < this.#limits.calls && own.length < this.#limits.perCaller;
  }

  #release(id: string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    clearTimeout(waiting?.timer);
    this.#waiting.delete(id);
    return waiting;
  }

  #lose(id: string): void {
    if (this.#release(id) === undefined) return;
    for (const listener of this.#listeners) listener(id);
  }
}
