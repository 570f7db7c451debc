/**
 * The calls of one server, and those that wait for answers: so many at once and no more, fewer of one
 * caller, and each for a time, because the server's own resources wait with them. A question beyond
 * that is declined, and so is one that nobody can tell whose it is: a server of the older protocol
 * does not say which call it asks in. What waits ends with its connection.
 */
import { randomUUID } from "node:crypto";
import type { JsonRecord } from "../../base/json-value.ts";
import type { ToolAnswer } from "./mcp-connection.ts";

/** How many may wait, and how long. */
interface HeldLimits {
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
    if (caller === undefined || call.isAsking || !this.#hasRoom(caller)) return DECLINED;
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
      const outcome = await work();
      if (outcome.kind !== "held") this.#endQuestions(call);
      return outcome;
    } finally {
      this.#followed.delete(call);
    }
  }

  /** A call that is over waits for no answer, also where its server asked in the same moment. */
  #endQuestions(call: HeldCall): void {
    for (const [id, waiting] of this.#waiting) if (waiting.call === call) this.drop(id);
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

/** A call that has stopped to ask; its server waits. */
export interface HeldAnswer {
  readonly kind: "held";
  /** Under which the call is found again. */
  readonly id: string;
  /** The parameters of the question. */
  readonly question: JsonRecord;
}

export type CallOutcome = ToolAnswer | HeldAnswer;

/** Begins a call, by the signal that ends it and an ear for its progress. */
type RunCall = (
  signal: AbortSignal,
  onProgress: (progress: JsonRecord) => void,
) => Promise<ToolAnswer>;

export interface CallListener {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: JsonRecord) => void) | undefined;
}

/** The reply to a question that gets no answer. */
const DECLINED: JsonRecord = { action: "decline" };

/**
 * A call of a server of 2025-11-25, which asks in the middle of it: the server's call goes on while
 * operators think, although nobody waits for it then. Whoever comes back with the answer waits for
 * it again.   MCP 2025-11-25 "Elicitation"
 */
class HeldCall {
  readonly #controller = new AbortController();
  #outcome: Promise<ToolAnswer> | undefined;
  #listener: CallListener | undefined;
  #stop: ((held: HeldAnswer) => void) | undefined;
  #reply: ((reply: JsonRecord) => void) | undefined;
  #onFailed: (() => void) | undefined;

  begin(run: RunCall, listener: CallListener): Promise<CallOutcome> {
    return this.#follow(listener, () => {
      const tell = (progress: JsonRecord): void => this.#listener?.onProgress?.(progress);
      this.#outcome = run(this.#controller.signal, tell);
      this.#outcome.catch(() => this.#onFailed?.());
    });
  }

  /** Answers the question, and waits for what comes of that. */
  resume(content: JsonRecord, listener: CallListener): Promise<CallOutcome> {
    return this.#follow(listener, () => this.#say({ action: "accept", content }));
  }

  /** True while a question of it has no reply: another one would take its answer. */
  get isAsking(): boolean {
    return this.#reply !== undefined;
  }

  /** Stops to ask; resolves to the reply. */
  ask(id: string, question: JsonRecord): Promise<JsonRecord> {
    return new Promise((resolve) => {
      this.#reply = resolve;
      this.#stop?.({ kind: "held", id, question });
    });
  }

  /** Ends the call: its question gets no answer. */
  drop(): void {
    this.#say(DECLINED);
    this.#controller.abort();
  }

  /** Calls back where the call fails, as it does when its connection is gone. */
  onFailed(callback: () => void): void {
    this.#onFailed = callback;
  }

  #say(reply: JsonRecord): void {
    this.#reply?.(reply);
    this.#reply = undefined;
  }

  async #follow(listener: CallListener, start: () => void): Promise<CallOutcome> {
    const { signal } = listener;
    const abort = (): void => this.#controller.abort(signal.reason);
    const stopped = new Promise<HeldAnswer>((resolve) => {
      this.#stop = resolve;
    });
    this.#listener = listener;
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      start();
      return await Promise.race([this.#outcome ?? stopped, stopped]);
    } finally {
      signal.removeEventListener("abort", abort);
      this.#listener = undefined;
      this.#stop = undefined;
    }
  }
}
