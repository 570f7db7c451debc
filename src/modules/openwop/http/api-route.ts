/** One operation of the HTTP API: who may ask for it, and how it is answered.   OpenWOP "rest-endpoints" */
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
  /** The discovery document, without what the listener knows. */
  readonly discovery: JsonRecord;
  readonly state: Omit<OpenwopState, "register" | "authority">;
  readonly view: Pick<ViewLease, "catchUp">;
  readonly log: { warn(fields: object, message?: string): void };
}

/** A request that may be read. */
export interface Authorized {
  readonly parts: ApiParts;
  readonly route: ApiRoute;
  readonly params: Readonly<Record<string, string>>;
  readonly key: ApiKey;
  readonly caller: RunCaller;
}

/** One request that may be answered. */
export interface ApiCall extends Authorized {
  readonly query: JsonRecord;
  readonly body: JsonRecord;
  header(name: string): string | undefined;
  /** The client's: it ends the waiting. */
  readonly signal: AbortSignal;
  keep(answer: ApiAnswer): readonly AlsoChange[];
}

/** Something that a caller may say beside the path and the body. */
export interface ApiParameter {
  readonly name: string;
  readonly in: "query" | "header";
  readonly description: string;
  readonly schema: JsonRecord;
}

/** One operation, as it is described and looked for. */
export interface Operation {
  readonly method: "GET" | "POST";
  /** `{name}` for parameters, as the API's description has it. */
  readonly path: string;
  readonly summary: string;
  /** The scopes that a key has to have, all of them. */
  readonly scopes: readonly ApiScope[];
  readonly isConformance?: boolean;
  readonly parameters?: readonly ApiParameter[];
  /** The JSON Schema of the body; without one, any object. */
  readonly body?: JsonRecord;
  /** The media type that a listener may accept in place of JSON. */
  readonly streams?: "text/event-stream";
}

export interface AnsweredRoute extends Operation {
  readonly streams?: never;
  handle(call: ApiCall): ApiAnswer | Promise<ApiAnswer>;
}

/** An operation whose answer is sent as it comes to be, by `openStream`. */
export interface StreamRoute extends Operation {
  readonly streams: "text/event-stream";
}

export type ApiRoute = AnsweredRoute | StreamRoute;
