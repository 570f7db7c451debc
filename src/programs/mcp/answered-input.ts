/**
 * The input of a conversation, which ends once every request in it is answered: a client that writes
 * its requests and closes its end reads what they came to.   MCP "stdio"
 */
import { finished, PassThrough, type Readable } from "node:stream";
import type { JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/server";

/** As long as a handler may take by default; a client that has gone for good is not waited for any longer. */
const LINGER_MS = 30_000;

interface AnsweredInput {
  readonly stream: Readable;
  /** Counts what is asked and answered; called once the transport is served. */
  follow(transport: Transport): void;
  close(): void;
}

/** Passes on what is read, and the end of it when nothing is unanswered. */
export function holdInput(input: Readable): AnsweredInput {
  const stream = new PassThrough();
  const unanswered = new Set<RequestId>();
  let lingering: NodeJS.Timeout | undefined;
  const endIfAnswered = (): void => {
    if (lingering === undefined || stream.readableLength > 0 || unanswered.size > 0) return;
    clearTimeout(lingering);
    stream.end();
  };
  input.pipe(stream, { end: false });
  const unwatch = finished(input, { writable: false }, () => {
    lingering = setTimeout(() => stream.end(), LINGER_MS);
    endIfAnswered();
  });
  return {
    stream,
    follow: (transport) => {
      const { onmessage } = transport;
      const send = transport.send.bind(transport);
      transport.onmessage = (message, extra) => {
        note(message, unanswered);
        onmessage?.(message, extra);
      };
      transport.send = async (message, options) => {
        await send(message, options);
        if ("method" in message || message.id === undefined) return;
        unanswered.delete(message.id);
        endIfAnswered();
      };
      // Behind the transport's own: what was read has been noted.
      stream.on("data", endIfAnswered);
    },
    close: () => {
      unwatch();
      clearTimeout(lingering);
    },
  };
}

/** A request waits for its answer, unless it is a subscription or is taken back. */
function note(message: JSONRPCMessage, unanswered: Set<RequestId>): void {
  if (!("method" in message)) return;
  if ("id" in message) {
    if (message.method !== "subscriptions/listen") unanswered.add(message.id);
    return;
  }
  if (message.method !== "notifications/cancelled") return;
  const id = message.params?.["requestId"];
  if (typeof id === "string" || typeof id === "number") unanswered.delete(id);
}
