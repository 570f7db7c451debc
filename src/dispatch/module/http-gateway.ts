/** The HTTP side of a deployment, as the listener and the composition root know it. */
import type { FastifyInstance } from "fastify";
import type { Problem } from "../../base/problem.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { WireFault } from "../../wire/message.ts";
import type { ApiEntry } from "./listing-sections.ts";

/** The methods that an ordinary client may try. */
export const HTTP_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/** The other end of a connection. */
export interface HttpPeer {
  readonly address: string;
  readonly port: number;
}

/** Field lines by lower-case name; a name that came twice has two values. */
type AnswerFields = ReadonlyMap<string, readonly string[]>;

export interface HttpAnswer {
  readonly status: number;
  readonly fields: AnswerFields;
  readonly body: string | Uint8Array;
}

type RawRequest = Parameters<FastifyInstance["routing"]>[0];
type RawReply = Parameters<FastifyInstance["routing"]>[1];

/** Answers HTTP requests while its deployment is served. */
export interface Gateway {
  handle(request: RawRequest, reply: RawReply): void;
  /** The answer to bytes that are no HTTP request; undefined: there is none. */
  answerFault(fault: WireFault, peer: HttpPeer): Promise<HttpAnswer | undefined>;
  /** Ends what its routes hold open; running requests are still answered. */
  close(): Promise<void>;
}

export interface BoundPorts {
  readonly agtp: number;
  /** Undefined: no HTTP is served. */
  readonly gateway: number | undefined;
}

/** The agent that the HTTP side speaks as. */
export interface GatewayAgent {
  readonly agent: AgentDocument;
  /** No operator has named it: it stands for anybody who reaches the port. */
  readonly isAgentIssued: boolean;
}

/** A process that serves the deployment; keys are those of `agtpd nodes --json`. */
export interface NodeFacts {
  /** The host's name and the port. */
  readonly node: string;
  readonly address: string;
  readonly version: string;
  /** RFC 3339. */
  readonly since: string;
  /** Lost: it is not heard of, or it may not serve since it hears nothing of the store. */
  readonly state: "ready" | "draining" | "lost";
  /**
   * The time that the others take it for alive without hearing of it; null for one that is alone.
   */
  readonly lease_ms: number | null;
}

export interface DaemonFacts {
  readonly address: string;
  readonly port: number;
  readonly gatewayPort: number | undefined;
  /** Over AGTP and HTTP. */
  connectionCount(): Promise<number>;
  /** The problems of the deployment that is served. */
  readonly problems: readonly Problem[];
  /** Every process that serves this deployment, this one first. */
  nodes(): Promise<readonly NodeFacts[]>;
}

/** Serves the pages of operators, on a listener of their own. */
export interface ConsoleSide {
  gateway(): Gateway;
  /** Says where it is served, and whom to ask how the daemon is. */
  bind(port: number, facts: () => DaemonFacts): void;
}

/** Serves HTTP for a deployment. */
export interface HttpSide {
  readonly agent: GatewayAgent;
  /** Where it is found; undefined where nobody can tell. */
  baseUrl(): string | undefined;
  /** Every HTTP API with where it is found; the same list until something about it changes. */
  apis(): readonly ApiEntry[];
  /** Says where the deployment is served. */
  bind(ports: BoundPorts): void;
  /** Undefined until all is put together. */
  gateway(): Gateway | undefined;
}
