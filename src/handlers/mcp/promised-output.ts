/**
 * An MCP server's answer is a stranger's: one that the endpoint's output schema does not take is a
 * failure of the upstream, and no fault of this server.   AGTP-API §12.3
 */
import type { CompiledSchema } from "../../schema/schema.ts";
import { AwaitedAnswer, type UpstreamHandler } from "../call-upstream.ts";
import { isHandlerError } from "../handler.ts";

/** Wraps a handler, whose bodies have to be what the endpoint promises. */
export function promisingOutput(handler: UpstreamHandler, output: CompiledSchema): UpstreamHandler {
  return async (call, exchange) => {
    const result = await handler(call, exchange);
    if (result instanceof AwaitedAnswer) return result;
    if (isHandlerError(result) || result.body === undefined) return result;
    const violations = output.check(result.body);
    if (violations === undefined) return result;
    const error = "upstream_malformed_response";
    call.log.warn({ error, violations }, "upstream call failed");
    return { error, message: "the upstream's response is not what the endpoint promises" };
  };
}
