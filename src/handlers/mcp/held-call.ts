/**
 * A call of a server of 2025-11-25, which asks in the middle of it: the server's call goes on while
 * operators think, although nobody waits for it then. Whoever comes back with the answer waits for
 * it again.   MCP 2025-11-25 "Elicitation"
 */
import type { JsonRecord } from "../../base/json-value.ts";
import type { ToolAnswer } from "./mcp-connection.ts";

/** A call that has stopped to ask; its server waits. */
export interface HeldAnswer {
  readonly kind: "held";
  /** Under which the call is found again. */
  readonly id: string;
  /** The parameters of the question. */
  readonly question: JsonRecord;
}

/** The outcome of a call, or of a part of it. */
export type CallOutcome = ToolAnswer | HeldAnswer;

/** Begins a call, by the signal that ends it and an ear for its progress. */
export type RunCall = (
  signal: AbortSignal,
  onProgress: (progress: JsonRecord) => void,
) => Promise<ToolAnswer>;

/** The one who waits for a call. */
export interface CallListener {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: JsonRecord) => void) | undefined;
}

/** The reply to a question that gets no answer. */
export const DECLINED: JsonRecord = { action: "decline" };

export class HeldCall {
  readonly #controller = new AbortController();
  #outcome: Promise<ToolAnswer> | undefined;
  #listener: CallListener | undefined;
  #stop: ((held: HeldAnswer) => void) | undefined;
  #reply: ((reply: JsonRecord) => void) | undefined;
  #onFailed: (() => void) | undefined;

  /** Begins the call, and waits for what comes of it. */
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
