/**
 * A stream of an MCP server that ends before it has answered: the library would wait for the answer
 * for ever. It is given one here, by which the failure is told from a server's own errors.
 */
import { isJSONRPCRequest, type StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

/** The message of an answer that never came. */
export const ENDED_EARLY = "the upstream ended its answer before it was whole";

/** A code that no server has a reason to use. */
const CODE = -32_099;

/** Answers each request once its stream is over. */
export function answerWhole(transport: StreamableHTTPClientTransport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (!isJSONRPCRequest(message)) return send(message, options);
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      // A request that was answered is not waited for any more, and hears nothing of this.
      const error = { code: CODE, message: ENDED_EARLY };
      transport.onmessage?.({ jsonrpc: "2.0", id: message.id, error });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
}

/** Tells whether an error is such an answer. */
export function isEndedEarly(error: { readonly code: number; readonly message: string }): boolean {
  return error.code === CODE && error.message === ENDED_EARLY;
}
