/** The tracing of a deployment: starts when it is served, and ends with the last of its requests. */
import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { reasonOf } from "../../base/thrown.ts";
import type { Contribution } from "../../dispatch/module/module.ts";
import {
  type CollectorAddress,
  collectorAddress,
  LAST_SENDING_MS,
  serviceResource,
  type TracingContext,
  type TracingSections,
} from "./config.ts";
import { listenToLeaving, listenToUndici } from "./leaving-spans.ts";
import { listenToHttp, RequestSpans } from "./request-spans.ts";
import { SpanQueue } from "./span-queue.ts";
import type { Place } from "./span-record.ts";
import { SpanIds, Spans } from "./spans.ts";
import { type SenderOptions, type SpanSender, ThreadSender } from "./thread-sender.ts";

/** The contribution of a traced deployment. */
export function openTracing({ config, catalog, log }: TracingContext): Contribution {
  let collector: CollectorAddress;
  try {
    collector = collectorAddress(config.tracing, "/v1/traces");
  } catch (error) {
    const file = relative(config.directory, config.file);
    const message = `cannot be used: ${reasonOf(error)}`;
    return { blockers: [{ file, key: "tracing.ca", message }] };
  }
  let stop = async (_onLast: () => void): Promise<void> => undefined;
  let end = async (): Promise<void> => undefined;
  return {
    features: ["tracing"],
    start: () => {
      const tracing = beginTracing(config, {
        collector,
        log,
        isMethod: (name) => catalog.has(name),
      });
      stop = async (onLast) => tracing.requests.beginNoMore(onLast);
      end = tracing.end;
    },
    // Started spans are still reported when they end.
    stop: () => stop(() => void end()),
    close: () => end(),
  };
}

interface Tracing {
  readonly requests: RequestSpans;
  /** Sends the waiting spans; repeated calls return the same promise. */
  end(): Promise<void>;
}

interface TracingParts {
  readonly collector: CollectorAddress;
  readonly log: TracingContext["log"];
  isMethod(name: string): boolean;
}

function beginTracing(
  sections: TracingSections,
  { collector, log, isMethod }: TracingParts,
): Tracing {
  const { tracing, limits } = sections;
  const queue = new SpanQueue(openSender({ collector, resource: serviceResource(sections) }));
  const spans = new Spans(new SpanIds(tracing.sampleRatio), queue);
  const places = new AsyncLocalStorage<Place>();
  const requests = new RequestSpans({ spans, places, isMethod });
  const unlisten = [
    requests.listen(),
    listenToHttp(places),
    listenToUndici(spans, places),
    listenToLeaving(spans, places),
  ];
  let ended: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    for (const one of unlisten) one();
    places.disable();
    const count = await queue.close(Math.min(limits.drainTimeoutMs, LAST_SENDING_MS));
    if (count === 0) return;
    log.warn({ event: "spans-lost", count }, "the collector of traces did not take the last spans");
  };
  return {
    requests,
    end: () => {
      ended ??= end();
      return ended;
    },
  };
}

function openSender(options: SenderOptions): SpanSender {
  const script = new URL("./sending-thread.js", import.meta.url);
  // A thread runs only built code; a daemon run from its sources sends on its own thread.
  if (existsSync(fileURLToPath(script))) return new ThreadSender({ script, ...options });
  const sender = import("./otlp-sender.ts").then(({ createOtlpSender }) =>
    createOtlpSender(options),
  );
  return {
    send: async (batch) => (await sender).send(batch),
    close: async () => (await sender).close(),
  };
}
