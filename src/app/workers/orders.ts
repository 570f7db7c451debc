/** The messages between the parent and its workers, beside those of the state. */
import type { LogLevel } from "../../base/log-level.ts";
import type { Problem } from "../../base/problem.ts";
import type { NodeFacts } from "../../dispatch/module/http-gateway.ts";
import type { WorkerNumber } from "../../server/worker-port.ts";
import type { HttpPorts } from "../serving.ts";

export interface BeginOrder extends HttpPorts {
  readonly configPath: string;
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly logLevel: LogLevel;
  /** Its place among the workers. */
  readonly seat: WorkerNumber;
  /** It has the listeners of HTTP, and speaks for all of them. */
  readonly isLead: boolean;
  /** Where the daemon listens. */
  readonly address: string;
  readonly boundPort: number;
  /** 48 octets in base64. */
  readonly ticketKeys: string;
}

/** A worker that serves, or the problems in its way. */
export type BeginAnswer =
  | { readonly kind: "refused"; readonly problems: readonly Problem[] }
  | (HttpPorts & {
      readonly kind: "started";
      readonly problems: readonly Problem[];
      readonly fingerprint256: string;
    });

/** The order to build the deployment anew. */
export interface PrepareOrder {
  /** 48 octets in base64. */
  readonly ticketKeys: string;
}

/** A deployment that waits to be adopted, or what is in the way of one. */
export interface PrepareAnswer {
  readonly isPrepared: boolean;
  readonly found: readonly Problem[];
  readonly errors: readonly Problem[];
}

export interface AdoptAnswer {
  readonly remaining: readonly Problem[];
  readonly fingerprint256: string;
}

export interface WorkerStatus {
  /** Connections to the sidecar alone: the parent counts the others. */
  readonly httpConnections: number;
  readonly documentVersion: string | null;
  readonly isFresh: boolean;
}

/** The whole, for the pages of operators. */
export interface WholeFacts {
  readonly connectionCount: number;
  readonly nodes: readonly NodeFacts[];
}

/** A command of the deployment that came over the control socket. */
export interface CommandOrder {
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The answer of a command; `isKnown` is false where there is none of its name. */
export interface CommandAnswer {
  readonly isKnown: boolean;
  readonly result?: unknown;
}
