/**
 * The seam for further faces on the HTTP listener, beside the AGTP endpoints: protocols of their own
 * that live under path prefixes of their own, such as `/v1`. Whoever has one returns it as a member
 * of `faces` in its `FloorPart`; it is served whenever the sidecar is.
 *
 * A face is Fastify plugins, one a prefix. Each gets an instance in which routes are written without
 * the prefix: a mount at "/v1" that says `app.get("/runs", …)` answers `GET /v1/runs`, and
 * `app.get("/", …)` answers the prefix itself. Everything under a prefix is the face's alone, and
 * nothing there comes to the AGTP endpoints: what it does not know is its own 404, in its own words
 * if it calls `app.setNotFoundHandler`, and its errors are, if it calls `app.setErrorHandler`; else
 * both are the sidecar's. Parsers, hooks and decorators stay inside the mount.
 *
 * What holds for every request holds here too: `[limits]`, one request at a time on a connection,
 * the rules for origins, `Server-ID`, a drain that lets running requests finish; the rates too, on the
 * account that the mount names. Identity does not: a
 * face knows its callers itself, and nothing that HTTP says of an Agent-ID may be believed. With a
 * reload new plugins are made and take the next request; the old instance is closed, so what an
 * `onClose` hook ends must not be needed by requests that still run. A request has to end when its
 * socket closes: a drain that is out of time closes them all. A response that is hijacked to be
 * streamed is the face's to end, when the daemon begins to stop at the latest, and no deadline of the
 * sidecar's applies to it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { TaskOwner } from "../../base/task-queue.ts";
import type { RateExcess } from "../../dispatch/rates.ts";

/** Registers the routes of one prefix. Called while a deployment is loaded: it writes nothing. */
export type GatewayPlugin = (app: FastifyInstance) => void | Promise<void>;

/** A part of the path space, and who serves it. */
export interface GatewayMount {
  /** "/v1": begins with a slash, does not end with one, literal. */
  readonly prefix: string;
  readonly plugin: GatewayPlugin;
  /** Answers what has a path that cannot be decoded, which no route is found for; else the sidecar. */
  answerUndecodable?(request: FastifyRequest, reply: FastifyReply): void;
  /** Whose account a request is on; undefined: the address that it comes from. */
  payerOf?(request: FastifyRequest): TaskOwner | undefined;
  /** Tells somebody to come later, in the face's own form; the Retry-After is there already. */
  answerExcess?(excess: RateExcess, reply: FastifyReply): FastifyReply;
}

/** One protocol on the HTTP listener. */
export interface GatewayFace {
  /** As DISCOVER /apis and the manifest list it. */
  readonly name: string;
  readonly description: string;
  readonly mounts: readonly GatewayMount[];
  /** The path of the face's own documentation: "/v1/openapi.json". */
  readonly documentation?: string;
}
