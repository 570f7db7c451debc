/** One operation of the HTTP API: its scopes and its handler.   OpenWOP "rest-endpoints" */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { Toll } from "../../../dispatch/rates/toll.ts";
import type { AlsoChange } from "../../../state/collection-write.ts";
import type { ViewLease } from "../../../state/state.ts";
import type { AgentCatalog } from "../agent-catalog.ts";
import type { AgentExecutor } from "../agent-executor.ts";
import type { OpenwopConfig } from "../config.ts";
import type { Redact } from "../runs/redact.ts";
import type { RunCaller } from "../runs/run-entry.ts";
import type { RunHost } from "../runs/run-host.ts";
import type { OpenwopState } from "../state.ts";
import type { ApiAnswer } from "./answer.ts";
import type { ApiKey, ApiKeys, ApiScope } from "./api-keys.ts";

export interface ApiParts {
  readonly host: RunHost;
  readonly catalog: AgentCatalog;
  readonly executor: AgentExecutor;
  readonly redact: Redact;
  readonly keys: ApiKeys;
  readonly settings: Pick<OpenwopConfig, "conformance" | "runtime">;
  readonly toll: Toll;
  /** The discovery document without the listener's limits. */
  readonly discovery: JsonRecord;
  readonly state: Omit<OpenwopState, "register" | "authority">;
  readonly view: Pick<ViewLease, "catchUp">;
  readonly log: { warn(fields: object, message?: string): void };
}

/** A request that passed authorization. */
export interface Authorized {
  readonly parts: ApiParts;
  readonly route: ApiRoute;
  readonly params: Readonly<Record<string, string>>;
  readonly key: ApiKey;
  readonly caller: RunCaller;
}

/** An authorized request with its query, body and header fields. */
export interface ApiCall extends Authorized {
  readonly query: JsonRecord;
  readonly body: JsonRecord;
  header(name: string): string | undefined;
  /** Aborted when the client disconnects; ends any wait. */
  readonly signal: AbortSignal;
  keep(answer: ApiAnswer): readonly AlsoChange[];
}

/** A query parameter or header field of an operation. */
export interface ApiParameter {
  readonly name: string;
  readonly in: "query" | "header";
  readonly description: string;
  readonly schema: JsonRecord;
}

/** One operation, as routed and described. */
export interface Operation {
  readonly method: "GET" | "POST";
  /** With `{name}` for parameters, as in OpenAPI. */
  readonly path: string;
  readonly summary: string;
  /** The scopes that a key needs, all of them. */
  readonly scopes: readonly ApiScope[];
  readonly isConformance?: boolean;
  readonly parameters?: readonly ApiParameter[];
  /** The JSON Schema of the body; by default any object. */
  readonly body?: JsonRecord;
  /** The media type that a client may accept in place of JSON. */
  readonly streams?: "text/event-stream";
}

export interface AnsweredRoute extends Operation {
  readonly streams?: never;
  handle(call: ApiCall): ApiAnswer | Promise<ApiAnswer>;
}

/** An operation that `openStream` answers incrementally. */
export interface StreamRoute extends Operation {
  readonly streams: "text/event-stream";
}

export type ApiRoute = AnsweredRoute | StreamRoute;
