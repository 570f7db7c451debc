/**
 * The calls of one server that wait for an operator's answer. Their number is bounded, for each
 * caller too, and each waits for a limited time, because it holds resources of the server.
 * Questions beyond that are declined, as are those with no clear call: a server of the older
 * protocol does not say which call it asks in. Held calls end with their connection.
 */
import { randomUUID } from "node:crypto";
import type { JsonRecord } from "../../base/json-value.ts";
import type { ToolAnswer } from "./mcp-connection.ts";

/** The bounds on number and time of held calls. */
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
  /** Calls that a request waits for, with their callers; without a caller, nobody could bring the answer. */
  readonly #followed = new Map<HeldCall, string | undefined>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #listeners = new Set<(id: string) => void>();
  #isClosed = false;

  constructor(limits: HeldLimits = HELD_LIMITS) {
    this.#limits = limits;
  }

  /** Returns true if a call waits for its answer. */
  has(id: string): boolean {
    return this.#waiting.has(id);
  }

  begin(run: RunCall, caller: string | undefined, listener: CallListener): Promise<CallOutcome> {
    const call = new HeldCall();
    return this.#follow(call, caller, () => call.begin(run, listener));
  }

  /** Resumes a call with the answer to its question; undefined if the call is gone. */
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

  /** Ends a held call without an answer. */
  drop(id: string): void {
    this.#release(id)?.call.drop();
  }

  /** Ends the held calls, and holds no more: nobody could come back to them. */
  close(): void {
    this.#isClosed = true;
    for (const id of [...this.#waiting.keys()]) this.drop(id);
  }

  /** Handles a question of the server; resolves to the reply. */
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

  /** Listens for held calls that end before their answer; returns the function that removes the listener. */
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

  /** Why: the server may have asked in the moment in which the call ended. */
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

/** A call that is paused by a question; its server waits for the reply. */
export interface HeldAnswer {
  readonly kind: "held";
  /** Identifies the held call. */
  readonly id: string;
  /** The parameters of the question. */
  readonly question: JsonRecord;
}

export type CallOutcome = ToolAnswer | HeldAnswer;

/** Begins a call, given a signal that ends it and a listener for its progress. */
type RunCall = (
  signal: AbortSignal,
  onProgress: (progress: JsonRecord) => void,
) => Promise<ToolAnswer>;

export interface CallListener {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: JsonRecord) => void) | undefined;
}

/** The reply to a question that remains unanswered. */
const DECLINED: JsonRecord = { action: "decline" };

/**
 * A call to a server of 2025-11-25, which asks in the middle of it: the server's call stays open
 * while operators decide, although no request waits for it. The request that brings the answer
 * waits for it again.   MCP 2025-11-25 "Elicitation"
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

  /** Answers the question, and waits for the next outcome. */
  resume(content: JsonRecord, listener: CallListener): Promise<CallOutcome> {
    return this.#follow(listener, () => this.#say({ action: "accept", content }));
  }

  /** True while a question has no reply: a second question would take the first one's answer. */
  get isAsking(): boolean {
    return this.#reply !== undefined;
  }

  /** Pauses the call with a question; resolves to the reply. */
  ask(id: string, question: JsonRecord): Promise<JsonRecord> {
    return new Promise((resolve) => {
      this.#reply = resolve;
      this.#stop?.({ kind: "held", id, question });
    });
  }

  /** Ends the call without an answer to its question. */
  drop(): void {
    this.#say(DECLINED);
    this.#controller.abort();
  }

  /** Sets the callback for a failed call, for instance by a lost connection. */
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
