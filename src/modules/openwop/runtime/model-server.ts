/** The client of the model server, with its own connections and bounded retries. The server's answers are untrusted. */

import { setTimeout as delay } from "node:timers/promises";
import { FairSlots } from "../../../base/fair-shares.ts";
import { given } from "../../../base/json-value.ts";
import { createHttpClient, type HttpClient } from "../../../handlers/connection-options.ts";
import { type Failure, failed } from "../agent-executor.ts";
import { type Completion, CompletionFault } from "./completion.ts";

/** A response whose body is not read yet. */
export interface ModelResponse {
  readonly status: number;
  /** The delay that Retry-After asks for. */
  readonly retryAfterMs: number | undefined;
  readonly isEventStream: boolean;
  readonly body: AsyncIterable<Uint8Array>;
  /** Discards the rest. */
  discard(): void;
}

export interface ModelServer {
  /** Preloads the HTTP client. */
  prepare(): void;
  /** Posts a chat-completions request; rejects on timeout. */
  ask(
    body: string,
    /** Concurrent requests take turns by owner. */
    question: { readonly owner: string; readonly signal: AbortSignal },
  ): Promise<ModelResponse>;
  close(): Promise<void>;
}

/** A status other than 200. The body is not read, as it may contain anything. */
export class ModelStatus extends Error {
  readonly status: number;
  readonly retryAfterMs: number | undefined;

  constructor({ status, retryAfterMs }: Pick<ModelResponse, "status" | "retryAfterMs">) {
    super(`the model's server answered with status ${status}`);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

interface AskOptions {
  readonly retries: number;
  readonly signal: AbortSignal;
  /** Tells whether part of an answer was passed on, which rules out a retry. */
  isCommitted(): boolean;
}

interface Judgement {
  readonly failure: Failure;
  /** True if a retry may succeed. */
  readonly isPassing: boolean;
  /** The delay before a retry; undefined if the server states none. */
  readonly afterMs?: number | undefined;
}

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 20_000;

/** Requests a completion with retries; returns the failure, and rejects only when the turn is over. */
export async function askModel(
  ask: () => Promise<Completion>,
  { retries, signal, isCommitted }: AskOptions,
): Promise<Completion | Failure> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await ask();
    } catch (fault) {
      signal.throwIfAborted();
      const { failure, isPassing, afterMs } = judge(fault);
      if (!isPassing || attempt >= retries || isCommitted()) return failure;
      const waitMs = afterMs ?? Math.min(FIRST_WAIT_MS * 2 ** attempt, MAX_WAIT_MS);
      // The server asks for a longer wait than a turn allows.
      if (waitMs > MAX_WAIT_MS) return failure;
      await delay(waitMs, undefined, { signal });
    }
  }
}

function judge(fault: unknown): Judgement {
  if (fault instanceof ModelStatus) return judgeStatus(fault);
  if (fault instanceof CompletionFault) {
    return { failure: failed("model_malformed_response", fault.message), isPassing: false };
  }
  const message = "the model's server could not be reached, or broke off its answer";
  return { failure: failed("model_unavailable", message), isPassing: true };
}

function judgeStatus({ status, retryAfterMs: afterMs, message }: ModelStatus): Judgement {
  const details = { modelStatus: status, ...given({ retryAfterMs: afterMs }) };
  const isBusy = status === 429;
  const code = isBusy
    ? "model_rate_limited"
    : status >= 500
      ? "model_unavailable"
      : "model_refused";
  return { failure: failed(code, message, details), isPassing: isBusy || status >= 500, afterMs };
}

interface ModelConnectionOptions {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** PEM text to trust instead of the system's authorities. */
  readonly ca: string | undefined;
  /** The maximum time without data. */
  readonly timeoutMs: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
const MAX_CONNECTIONS = 32;
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Creates the client without connecting. */
export function createModelConnection(options: ModelConnectionOptions): ModelServer {
  const { timeoutMs: silenceMs, ca } = options;
  const needs = { connections: MAX_CONNECTIONS, connectTimeoutMs: CONNECT_TIMEOUT_MS, ca };
  const client = createHttpClient({ ...needs, silenceMs });
  const slots = new FairSlots(MAX_CONNECTIONS);
  return {
    prepare: () => client.prepare(),
    async ask(body, { owner, signal }) {
      const release = await slots.take(owner, signal);
      try {
        return await post(client, options, { body, signal, onEnd: release });
      } catch (error) {
        release();
        throw error;
      }
    },
    close: () => client.close(),
  };
}

/** Posts a request; `onEnd` is called when the response is closed. */
async function post(
  client: HttpClient,
  { baseUrl, apiKey }: ModelConnectionOptions,
  { body, signal, onEnd }: { body: string; signal: AbortSignal; onEnd(): void },
): Promise<ModelResponse> {
  const response = await client.request(`${baseUrl}/chat/completions`, {
    ...{ method: "POST", body, signal },
    headers: {
      accept: "application/json, text/event-stream",
      "accept-encoding": "identity",
      "content-type": "application/json",
      "user-agent": "agtpd",
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    },
  });
  const { statusCode, headers, body: stream } = response;
  stream.once("close", onEnd);
  return {
    status: statusCode,
    retryAfterMs: readRetryAfter(headers["retry-after"]),
    isEventStream: /^text\/event-stream\b/i.test(String(headers["content-type"] ?? "")),
    body: stream,
    discard: () => stream.destroy(),
  };
}

/** Reads a delay in seconds or an HTTP date.   RFC 9110 §10.2.3 */
function readRetryAfter(value: string | readonly string[] | undefined): number | undefined {
  if (typeof value !== "string") return undefined;
  const waitMs = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}
