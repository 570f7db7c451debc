/**
 * Passes the pipeline's reports on: to the log, and to `node:diagnostics_channel` for whoever wants
 * metrics or traces. Publishing costs nothing while nobody listens.
 */
import { channel } from "node:diagnostics_channel";
import type { Log } from "../base/log.ts";
import type { Exchange } from "../dispatch/exchange.ts";
import type { Observer } from "../dispatch/observer.ts";
import { CHANNELS, type RequestEnd, type RequestRefusal } from "../dispatch/request-channels.ts";
import { isAgtpSpecific } from "../wire/status.ts";
import { requestLine, wireFaultLine } from "./request-log.ts";

/** Reports to a log and to the channels. */
export function createObserver(log: Log): Observer {
  const started = channel(CHANNELS.start);
  const refused = channel(CHANNELS.refusal);
  const ended = channel(CHANNELS.end);
  const { logger } = log;
  const isVerbose = logger.isLevelEnabled("info");
  const isLogged = (status: number): boolean => isVerbose || isAgtpSpecific(status);

  return {
    start(exchange) {
      if (started.hasSubscribers) started.publish({ exchange });
    },
    end(exchange, response, reply) {
      if (reply.refusal !== undefined && refused.hasSubscribers) {
        const { refusal } = reply;
        refused.publish({ exchange, refusal } satisfies RequestRefusal);
      }
      const logs = isLogged(response.status);
      if (!logs && !ended.hasSubscribers) return;
      const durationMs = performance.now() - exchange.startedAt;
      if (ended.hasSubscribers) {
        const { status } = response;
        ended.publish({ exchange, status, response, durationMs } satisfies RequestEnd);
      }
      if (logs) log.writeLine(requestLine(exchange, response, reply, durationMs));
    },
    wireFault(fault, response, peer) {
      if (ended.hasSubscribers) {
        const end: RequestEnd = { exchange: undefined, status: response.status, durationMs: 0 };
        ended.publish(end);
      }
      if (isLogged(response.status)) {
        log.writeLine(wireFaultLine(fault.code, response, peer));
      }
    },
    fault({ errorId, exchange, message, cause }) {
      const call = {
        error_id: errorId,
        method: exchange.method,
        endpoint: exchange.route?.path,
        ...(cause === undefined ? {} : { error: cause }),
      };
      // Giving up when the caller has left is what a handler should do.
      if (cause !== undefined && exchange.isAborted) {
        logger.info({ event: "abandoned", ...call }, "the call was ended before it was answered");
      } else logger.error({ event: "fault", ...call }, message);
    },
    logFor(exchange) {
      return logger.child({
        endpoint: `${exchange.method} ${exchange.route?.path ?? exchange.path}`,
        agent_id: exchange.caller.agentId,
        request_id: exchange.header("request-id"),
        task_id: exchange.taskId,
        trace_id: traceOf(exchange),
      });
    },
  };
}

/** Calls that a handler dispatches are a part of the same trace. */
function traceOf({ traceId, inner }: Exchange): string | undefined {
  return inner === undefined ? traceId : traceOf(inner.parent);
}
