/** Where something is done, as far as traces go: kept by `AsyncLocalStorage`. */
import type { SpanLink } from "./span-record.ts";

/** The span that is under way, or the request over HTTP that has none yet. */
export interface Place {
  readonly span?: SpanLink;
  readonly http?: HttpRequest;
}

/** A request over HTTP; its span is made when the first request of AGTP comes of it. */
export interface HttpRequest {
  readonly request: HttpMessage;
  readonly startedAt: number;
  span?: SpanLink;
}

/** The part of the platform's message that is looked at. */
export interface HttpMessage {
  readonly method?: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}
