/**
 * The server that has the models: asked with a request of chat completions, answering whatever it
 * likes. What can be tried again is tried again, a few times and not for long.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { TurnError } from "./agent-runtime.ts";
import { type Completion, CompletionFault } from "./completion.ts";

/** An answer, its body unread. */
export interface ModelResponse {
  readonly status: number;
  /** Of its Retry-After. */
  readonly retryAfterMs: number | undefined;
  readonly isEventStream: boolean;
  readonly body: AsyncIterable<Uint8Array>;
  /** Gives up the rest. */
  discard(): void;
}

/** The way there. */
export interface ModelServer {
  /** Rejects when there is no answer in time. */
  ask(body: string, signal: AbortSignal): Promise<ModelResponse>;
  close(): Promise<void>;
}

/** How to ask. */
export interface AskOptions {
  readonly retries: number;
  readonly signal: AbortSignal;
  /** Reads the body of a 200. */
  read(response: ModelResponse): Promise<Completion>;
  /** Whether something of an answer has been told already, so that another one cannot be. */
  isCommitted(): boolean;
}

/** A completion, or why there is none. */
export type Asked =
  | { readonly completion: Completion; readonly error?: undefined }
  | { readonly completion?: undefined; readonly error: TurnError };

interface Attempt {
  readonly completion?: Completion;
  readonly error?: TurnError;
  /** Undefined: asking again is of no use. */
  readonly again?: Again;
}

/** When to ask again. */
interface Again {
  /** Not before; undefined: the server does not say. */
  readonly afterMs: number | undefined;
}

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 20_000;

/** Asks, and asks again; rejects only when the turn is over. */
export async function askModel(
  server: ModelServer,
  body: string,
  options: AskOptions,
): Promise<Asked> {
  const { retries, signal } = options;
  for (let attempt = 0; ; attempt += 1) {
    const { completion, error = UNREACHABLE, again } = await tryOnce(server, body, options);
    if (completion !== undefined) return { completion };
    if (again === undefined || attempt >= retries || options.isCommitted()) return { error };
    const waitMs = again.afterMs ?? Math.min(FIRST_WAIT_MS * 2 ** attempt, MAX_WAIT_MS);
    // Whoever is told to wait longer does not ask sooner.
    if (waitMs > MAX_WAIT_MS) return { error };
    await delay(waitMs, undefined, { signal });
  }
}

const UNREACHABLE: TurnError = {
  code: "model_unavailable",
  message: "the model's server could not be reached, or broke off its answer",
};

async function tryOnce(
  server: ModelServer,
  body: string,
  { signal, read }: AskOptions,
): Promise<Attempt> {
  try {
    const response = await server.ask(body, signal);
    if (response.status === 200) return { completion: await read(response) };
    response.discard();
    return judgeStatus(response);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CompletionFault) {
      return { error: { code: "model_malformed_response", message: error.message } };
    }
    return { error: UNREACHABLE, again: { afterMs: undefined } };
  }
}

/** Of the answer only its status is told: what else it says may be anything. */
function judgeStatus({ status, retryAfterMs }: ModelResponse): Attempt {
  const message = `the model's server answered with status ${status}`;
  const details = {
    modelStatus: status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  const again = { afterMs: retryAfterMs };
  if (status === 429) return { error: { code: "model_rate_limited", message, details }, again };
  if (status >= 500) return { error: { code: "model_unavailable", message, details }, again };
  return { error: { code: "model_refused", message, details } };
}
