/**
 * One request until its response: settled once, by a response, an error, its deadline or an abort. Check `isSettled`
 * before further work on it.
 */
import { MAX_TIMER_MS } from "../base/deadline.ts";
import { type JsonBounds, scanJson } from "../base/json-bounds.ts";
import { parseJson } from "../base/json-value.ts";
import type { ReceivedResponse } from "../wire/response-parser.ts";
import type { ClientResponse } from "./agtp-client.ts";
import { AgtpClientError } from "./client-error.ts";

interface Deadline {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Owns a timer and an abort listener, both released on settling. */
export class Exchange {
  readonly bytes: Uint8Array;
  /** True if it may be resent when it is unknown if the peer received it. */
  readonly isRepeatable: boolean;
  wasRepeated = false;
  readonly response: Promise<ReceivedResponse>;
  readonly #timer: NodeJS.Timeout;
  readonly #signal: AbortSignal | undefined;
  readonly #abort: () => void;
  #resolve!: (response: ReceivedResponse) => void;
  #reject!: (error: AgtpClientError) => void;
  #isSettled = false;

  /** `onAbandoned` is called on the deadline or an abort. */
  constructor(
    request: { readonly bytes: Uint8Array; readonly isRepeatable: boolean },
    { timeoutMs, signal }: Deadline,
    onAbandoned: (exchange: Exchange) => void,
  ) {
    this.bytes = request.bytes;
    this.isRepeatable = request.isRepeatable;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const abandon = (error: AgtpClientError): void => {
      this.fail(error);
      onAbandoned(this);
    };
    this.#abort = () =>
      abandon(new AgtpClientError("ERR_AGTP_ABORTED", "the caller aborted it", signal?.reason));
    this.#timer = setTimeout(
      () => {
        abandon(new AgtpClientError("ERR_AGTP_TIMEOUT", `no response within ${timeoutMs} ms`));
      },
      Math.min(timeoutMs, MAX_TIMER_MS),
    );
    this.#signal = signal;
    signal?.addEventListener("abort", this.#abort, { once: true });
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  complete(response: ReceivedResponse): void {
    if (this.#settle()) this.#resolve(response);
  }

  fail(error: AgtpClientError): void {
    if (this.#settle()) this.#reject(error);
  }

  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#abort);
    return true;
  }
}

/** Beyond these a server could exhaust the client's memory, or the stack of code that walks the body. */
const BODY_BOUNDS: JsonBounds = {
  ...{ depth: 512, containers: 1_048_576 },
  ...{ members: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY },
};

const TEXT = new TextDecoder("utf-8", { ignoreBOM: true });
const BYTE_ORDER_MARK = /^\ufeff/;

/** Decodes and parses the body once, for all readers of the response. */
export function readResponse(received: ReceivedResponse): ClientResponse {
  const { status, statusText, headers, body: bytes } = received;
  const text = TEXT.decode(bytes);
  const isJson = scanJson(bytes, BODY_BOUNDS).excess === undefined;
  // RFC 8259 §8.1: a byte order mark may be ignored.
  const body = isJson ? parseJson(text.replace(BYTE_ORDER_MARK, "")) : undefined;
  return { status, statusText, headers, body, text, bytes };
}

/** True if the call succeeded or is pending (261).   AGTP "Status Codes" */
export function isAccepted(status: number): boolean {
  return [200, 202, 204, 261, 263].includes(status);
}
