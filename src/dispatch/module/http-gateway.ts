/** The HTTP side of a deployment, as the listener and the composition root see it. */
import type { FastifyInstance } from "fastify";
import type { Problem } from "../../base/problem.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { WireFault } from "../../wire/message.ts";
import type { ApiEntry } from "./listing-sections.ts";

/** The methods that an ordinary HTTP client may use. */
export const HTTP_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/** The other end of an HTTP connection. */
export interface HttpPeer {
  readonly address: string;
  readonly port: number;
}

/** Header field values by lower-case name; a repeated field has several values. */
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
  /** Answers bytes that are no HTTP request; undefined if there is no answer. */
  answerFault(fault: WireFault, peer: HttpPeer): Promise<HttpAnswer | undefined>;
  /** Ends what its routes hold open, such as streams; running requests are still answered. */
  close(): Promise<void>;
}

export interface BoundPorts {
  readonly agtp: number;
  /** Undefined if no HTTP is served. */
  readonly gateway: number | undefined;
}

/** The agent that the HTTP side speaks as. */
export interface GatewayAgent {
  readonly agent: AgentDocument;
  /** True if no operator named it, so that it stands for anybody who reaches the port. */
  readonly isAgentIssued: boolean;
}

/** A process that serves the deployment; keys are those of `agtpd nodes --json`. */
export interface NodeFacts {
  /** The host name and the port. */
  readonly node: string;
  readonly address: string;
  readonly version: string;
  /** The start time, in RFC 3339. */
  readonly since: string;
  /** `lost` if nothing was heard of it, or if it may not serve because the store is out of reach. */
  readonly state: "ready" | "draining" | "lost";
  /** The time without a sign of life after which others take it for lost; null for a single process. */
  readonly lease_ms: number | null;
}

export interface DaemonFacts {
  readonly address: string;
  readonly port: number;
  readonly gatewayPort: number | undefined;
  /** The number of connections, over AGTP and HTTP. */
  connectionCount(): Promise<number>;
  /** The problems of the serving deployment. */
  readonly problems: readonly Problem[];
  /** The processes that serve this deployment, this one first. */
  nodes(): Promise<readonly NodeFacts[]>;
}

/** Serves the operators' pages, on a listener of their own. */
export interface ConsoleSide {
  gateway(): Gateway;
  /** Sets the port that it is served on, and the source of facts about the daemon. */
  bind(port: number, facts: () => DaemonFacts): void;
}

/** Serves HTTP for a deployment. */
export interface HttpSide {
  readonly agent: GatewayAgent;
  /** The base URL; undefined if it cannot be determined. */
  baseUrl(): string | undefined;
  /** The HTTP APIs with their URLs; the same list until an entry changes. */
  apis(): readonly ApiEntry[];
  /** Sets the ports that the deployment is served on. */
  bind(ports: BoundPorts): void;
  /** Undefined until the deployment is assembled. */
  gateway(): Gateway | undefined;
}
