/**
 * Routes of the HTTP listener besides the verbs of the AGTP endpoints: other protocols, each under
 * a path prefix of its own, such as `/v1`. A module returns them as `httpRoutes` of its
 * `Contribution`; they are served whenever the sidecar is.
 *
 * A route is a Fastify plugin for one prefix. Its instance sees paths without the prefix: at "/v1",
 * `app.get("/runs", …)` answers `GET /v1/runs`, and `app.get("/", …)` answers the prefix itself.
 * Nothing under a prefix reaches the AGTP endpoints. Unknown paths and errors are answered by the
 * plugin if it calls `app.setNotFoundHandler` and `app.setErrorHandler`, and by the sidecar if not.
 * Parsers, hooks and decorators stay inside.
 *
 * The rules of every HTTP request apply: `[limits]`, one request at a time on a connection, the
 * origin checks, `Server-ID`, a drain that waits for running requests, and the rates, on the
 * account that the route names. Identity does not: an HTTP API authenticates its callers itself,
 * and no Agent-ID from HTTP may be believed. A reload creates new plugins, which take the next
 * request, and closes the old instance, so that running requests must not depend on what an
 * `onClose` hook ends. A request must end when its socket closes, since a drain that runs out of
 * time closes all sockets. A hijacked, streamed response must be ended by the route, at the latest
 * when the daemon starts to stop; no deadline of the sidecar applies to it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { TaskOwner } from "../../base/task-queue.ts";
import type { RateExcess } from "../rates/rates.ts";

/** Registers the routes of one prefix. It must write nothing, since it runs while a deployment loads. */
export type HttpPlugin = (app: FastifyInstance) => void | Promise<void>;

/** An HTTP API as DISCOVER /apis and the manifest list it. */
export interface HttpApi {
  readonly name: string;
  readonly description: string;
  /** The path of its documentation, such as "/v1/openapi.json". */
  readonly documentation?: string;
}

/** A path prefix with the plugin that answers there. */
export interface HttpRoute {
  /** A literal path such as "/v1", with a leading and without a trailing slash. */
  readonly prefix: string;
  /** The API that it belongs to; one API may have several prefixes. */
  readonly api: HttpApi;
  readonly plugin: HttpPlugin;
  /** Answers a path that cannot be decoded, and so matches no handler; by default the sidecar does. */
  answerUndecodable?(request: FastifyRequest, reply: FastifyReply): void;
  /** Returns the account that pays for a request; undefined for the client's address. */
  payerOf?(request: FastifyRequest): TaskOwner | undefined;
  /** Answers a rate-limited request in the API's own format; Retry-After is already set. */
  answerExcess?(excess: RateExcess, reply: FastifyReply): FastifyReply;
}
