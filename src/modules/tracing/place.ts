/** Where something is done, as far as traces go: kept by `AsyncLocalStorage`. */
import type { Span } from "@opentelemetry/api";
import type { HttpRequest } from "./http-requests.ts";

/** The span that is under way, or the request over HTTP that has none yet. */
export interface Place {
  readonly span?: Span;
  readonly http?: HttpRequest;
}
