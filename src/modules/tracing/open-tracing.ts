/** Traces of a deployment: begun when it is served, ended with the last of its requests. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Contribution } from "../../dispatch/module.ts";
import type { TracingContext } from "./config.ts";
import { listenToHttp } from "./http-requests.ts";
import { listenToLeaving } from "./leaving-spans.ts";
import { openTracer } from "./open-tracer.ts";
import type { Place } from "./place.ts";
import { RequestSpans } from "./request-spans.ts";
import { listenToUndici } from "./undici-spans.ts";

/** The contribution of a deployment that is traced. */
export function openTracing({ config, catalog }: TracingContext): Contribution {
  const opened = openTracer(config);
  if ("message" in opened) return { blockers: [opened] };
  const { tracer, roots } = opened;
  const places = new AsyncLocalStorage<Place>();
  const spans = new RequestSpans({ tracer, roots, places, isMethod: (name) => catalog.has(name) });
  let unlisten: readonly (() => void)[] = [];
  const end = async (): Promise<void> => {
    for (const one of unlisten) one();
    unlisten = [];
    places.disable();
    spans.close();
    await opened.close(config.limits.drainTimeoutMs);
  };
  return {
    features: ["tracing"],
    start: () => {
      unlisten = [
        spans.listen(),
        listenToHttp(places),
        listenToUndici(tracer, places),
        listenToLeaving(tracer, places),
      ];
    },
    // What has begun is told of to its end.
    stop: async () => {
      spans.beginNoMore(() => void end());
    },
    close: end,
  };
}
