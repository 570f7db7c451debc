/**
 * The answers to calls of an MCP server over HTTP, each on a connection of its own. The library waits
 * for ever where one ends before it is whole, and lets one be that goes on when its call is over.
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

/** A code that no server has a reason to use. */
const CODE = -32_099;

/** Tells whether an error is the answer that is given in a server's place. */
export function isEndedEarly(error: { readonly code: number; readonly message: string }): boolean {
  return error.code === CODE && error.message === ENDED_EARLY;
}

/** Tells whether a message, which is known to be one, answers a request. */
export function isReply(message: JSONRPCMessage): message is JSONRPCResponse {
  return !("method" in message);
}

/** The id of the request that a message cancels. */
export function cancelledBy(message: unknown): RequestId | undefined {
  const isCancel = isJSONRPCNotification(message) && message.method === "notifications/cancelled";
  const id = isCancel ? message.params?.["requestId"] : undefined;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** Looks after the answers of a transport that is not connected yet. */
export function keepCallStreams(transport: StreamableHTTPClientTransport): void {
  const streams = new CallStreams();
  // The library keeps it, and calls it before its own.
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
      // A request that was answered is not waited for any more, and hears nothing of this.
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

/** How long a server has to end the answer to a call that is over. */
const ENDING_MS = 1_000;

class CallStreams {
  readonly #streams = new Map<unknown, Deadline>();
  readonly #ending = new Set<unknown>();

  /** The signal that ends the answer to a request: this one, or that its time is up. */
  begin(id: unknown, signal: AbortSignal | undefined): AbortSignal {
    const stream = new Deadline({ signals: signal === undefined ? [] : [signal] });
    stream.signal.addEventListener("abort", () => this.forget(id), { once: true });
    this.#streams.set(id, stream);
    return stream.signal;
  }

  /** Nobody waits for the answer any more: its server ends it soon, or its connection is closed. */
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
