/**
 * Routes of the HTTP listener beside the verbs of the AGTP endpoints: protocols of their own that live
 * under path prefixes of their own, such as `/v1`. A module that has some returns them as `httpRoutes`
 * of its `Contribution`; they are served whenever the sidecar is.
 *
 * A route is a Fastify plugin for one prefix. It gets an instance in which paths are written without
 * the prefix: one at "/v1" that says `app.get("/runs", …)` answers `GET /v1/runs`, and
 * `app.get("/", …)` answers the prefix itself. Everything under a prefix is its own, and
 * nothing there comes to the AGTP endpoints: what it does not know is its own 404, in its own words
 * if it calls `app.setNotFoundHandler`, and its errors are, if it calls `app.setErrorHandler`; else
 * both are the sidecar's. Parsers, hooks and decorators stay inside.
 *
 * The rules of every request hold here too: `[limits]`, one request at a time on a connection,
 * the rules for origins, `Server-ID`, a drain that lets running requests finish; the rates too, on the
 * account that the route names. Identity does not: an HTTP API knows its callers itself, and nothing
 * that HTTP says of an Agent-ID may be believed. With a reload new plugins are made and take the next
 * request; the old instance is closed, so what an `onClose` hook ends must not be needed by requests
 * that still run. A request has to end when its socket closes: a drain that is out of time closes them
 * all. A response that is hijacked to be streamed is the route's to end, when the daemon begins to stop
 * at the latest, and no deadline of the sidecar's applies to it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { TaskOwner } from "../../base/task-queue.ts";
import type { RateExcess } from "../rates/rates.ts";

/** Registers what one prefix answers. Called while a deployment is loaded: it writes nothing. */
export type HttpPlugin = (app: FastifyInstance) => void | Promise<void>;

/** An HTTP API as DISCOVER /apis and the manifest list it. */
export interface HttpApi {
  readonly name: string;
  readonly description: string;
  /** The path of its documentation: "/v1/openapi.json". */
  readonly documentation?: string;
}

/** A part of the path space, and who answers there. */
export interface HttpRoute {
  /** "/v1": begins with a slash, does not end with one, literal. */
  readonly prefix: string;
  /** The API that it belongs to; one API may have several prefixes. */
  readonly api: HttpApi;
  readonly plugin: HttpPlugin;
  /** Answers a path that cannot be decoded, which no handler is found for; else the sidecar does. */
  answerUndecodable?(request: FastifyRequest, reply: FastifyReply): void;
  /** Whose account a request is on; undefined: the address that it comes from. */
  payerOf?(request: FastifyRequest): TaskOwner | undefined;
  /** Tells somebody to come later, in the API's own form; the Retry-After is there already. */
  answerExcess?(excess: RateExcess, reply: FastifyReply): FastifyReply;
}
