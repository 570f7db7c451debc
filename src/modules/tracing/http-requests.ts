/**
 * Requests over HTTP, as the platform tells of them. One that becomes a request of AGTP has a span
 * around it; pages and files have none.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import { listenTo } from "../../base/leaving.ts";
import {
  ATTRIBUTES,
  type HttpMessage,
  type HttpRequest,
  now,
  type Place,
  SPAN_KINDS,
  type SpanLink,
  SpanRecord,
} from "./span-record.ts";
import type { Spans } from "./spans.ts";
import { readParent } from "./traced-route.ts";

/** The message of the platform; at the start its response says nothing yet. */
interface Finished {
  readonly request: HttpMessage;
  readonly response: { readonly statusCode: number };
}

/** Notes requests from now on; answers how to end it. */
export function listenToHttp(places: AsyncLocalStorage<Place>, spans: Spans): () => void {
  const known = new WeakMap<HttpMessage, HttpRequest>();
  return listenTo({
    "http.server.request.start": ({ request }: Finished) => {
      const http: HttpRequest = { request, startedAt: now() };
      known.set(request, http);
      places.enterWith({ http });
    },
    "http.server.response.finish": ({ request, response: { statusCode } }: Finished) => {
      const span = known.get(request)?.span;
      if (!(span instanceof SpanRecord)) return;
      span.set(ATTRIBUTES.httpStatus, statusCode);
      if (statusCode >= 500) span.hasFailed = true;
      spans.end(span);
    },
  });
}

/** The span of a request over HTTP, made when it is first asked for; fields of `own` count more. */
export function httpSpan(
  http: HttpRequest,
  spans: Spans,
  own: (name: string) => string | undefined,
): SpanLink {
  if (http.span !== undefined) return http.span;
  const { method = "", headers } = http.request;
  const parent = readParent((name) => {
    const value = own("traceparent") === undefined ? headers[name] : own(name);
    return typeof value === "string" ? value : undefined;
  });
  const made =
    parent === undefined
      ? spans.root(method, SPAN_KINDS.server, http.startedAt)
      : (spans.within(parent, method, SPAN_KINDS.server, http.startedAt) ?? parent);
  const span = typeof made === "string" ? spans.unsampled(made) : made;
  http.span = span;
  if (span instanceof SpanRecord) span.set(ATTRIBUTES.httpMethod, method);
  return span;
}
