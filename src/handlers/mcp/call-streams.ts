/**
 * The answer streams of an MCP server over HTTP, one per call. The library waits forever if a
 * stream ends early, and does not end one that goes on after its call is over.
 */
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCResponse,
  type RequestId,
  type StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { Deadline } from "../../base/deadline.ts";

/** The message of an answer that never came. */
export const ENDED_EARLY = "the upstream ended its answer before it was whole";

/** An error code that servers do not use. */
const CODE = -32_099;

/** Returns true if an error was made here because an answer ended early. */
export function isEndedEarly(error: { readonly code: number; readonly message: string }): boolean {
  return error.code === CODE && error.message === ENDED_EARLY;
}

/** Returns true if a message, which is known to be valid, answers a request. */
export function isReply(message: JSONRPCMessage): message is JSONRPCResponse {
  return !("method" in message);
}

/** The id of the request that a message cancels. */
export function cancelledBy(message: unknown): RequestId | undefined {
  const isCancel = isJSONRPCNotification(message) && message.method === "notifications/cancelled";
  const id = isCancel ? message.params?.["requestId"] : undefined;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** Watches the answer streams of a transport that is not connected yet. */
export function keepCallStreams(transport: StreamableHTTPClientTransport): void {
  const streams = new CallStreams();
  // The library keeps this listener, and calls it before its own.
  transport.onmessage = (message) => {
    if (isReply(message) && "id" in message) streams.end(message.id);
  };
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    if (!isJSONRPCRequest(message)) {
      streams.end(cancelledBy(message));
      return send(message, options);
    }
    const { id } = message;
    const onRequestStreamEnd = (): void => {
      streams.forget(id);
      options?.onRequestStreamEnd?.();
      // Why unconditional: the library ignores an error for a request that was already answered.
      const error = { code: CODE, message: ENDED_EARLY };
      transport.onmessage?.({ jsonrpc: "2.0", id, error });
    };
    const requestSignal = streams.begin(id, options?.requestSignal);
    try {
      await send(message, { ...options, requestSignal, onRequestStreamEnd });
    } catch (error) {
      streams.forget(id);
      throw error;
    }
  };
}

/** How long a server may leave an answer stream open once its call is over. */
const ENDING_MS = 1_000;

class CallStreams {
  readonly #streams = new Map<unknown, Deadline>();
  readonly #ending = new Set<unknown>();

  /** Returns the signal that ends an answer stream: aborted with the given signal, or once `end` runs out. */
  begin(id: unknown, signal: AbortSignal | undefined): AbortSignal {
    const stream = new Deadline({ signals: signal === undefined ? [] : [signal] });
    stream.signal.addEventListener("abort", () => this.forget(id), { once: true });
    this.#streams.set(id, stream);
    return stream.signal;
  }

  /** Gives the server a moment to end the stream of a finished call, then closes its connection. */
  end(id: unknown): void {
    const stream = this.#streams.get(id);
    if (stream === undefined || this.#ending.has(id)) return;
    this.#ending.add(id);
    setTimeout(() => stream.abort(new Error("the call is over")), ENDING_MS).unref();
  }

  forget(id: unknown): void {
    this.#streams.get(id)?.clear();
    this.#streams.delete(id);
    this.#ending.delete(id);
  }
}
