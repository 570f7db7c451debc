/** The messages between the parent and its workers, besides those of the state. */
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
  /** Its number among the workers. */
  readonly seat: WorkerNumber;
  /** True if it has the HTTP listeners, and acts for all workers. */
  readonly isLead: boolean;
  /** The address that the daemon listens on. */
  readonly address: string;
  readonly boundPort: number;
  /** 48 octets in base64. */
  readonly ticketKeys: string;
  /** The intermediate certificates that other workers verified, each as DER in base64. */
  readonly intermediates: readonly string[];
}

/** The answer of a worker that serves, or the problems that prevent it. */
export type BeginAnswer =
  | { readonly kind: "refused"; readonly problems: readonly Problem[] }
  | (HttpPorts & {
      readonly kind: "started";
      readonly problems: readonly Problem[];
      readonly fingerprint256: string;
    });

/** Orders a worker to build the deployment anew. */
export interface PrepareOrder {
  /** 48 octets in base64. */
  readonly ticketKeys: string;
}

/** A deployment that is ready to be adopted, or the problems that prevent it. */
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
  /** Connections to the sidecar only, since the parent counts the others. */
  readonly httpConnections: number;
  readonly documentVersion: string | null;
  readonly isFresh: boolean;
}

/** Facts about the whole daemon, for the console. */
export interface WholeFacts {
  readonly connectionCount: number;
  readonly nodes: readonly NodeFacts[];
}

/** A command of the deployment from the control socket. */
export interface CommandOrder {
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The answer to a command; `isKnown` is false if there is no such command. */
export interface CommandAnswer {
  readonly isKnown: boolean;
  readonly result?: unknown;
}
