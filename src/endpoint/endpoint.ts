/**
 * The endpoint primitive: a (method, path) pair with its semantic block, schemas, errors and
 * handler binding.   AGTP-API §6, §7, §12
 */
import type { JsonSchema } from "../schema/json-schema.ts";

import type { UpstreamEncoding } from "./upstream-format.ts";

/** The values of `semantic.capability`.   AGTP-API §7.1 */
export const CAPABILITIES = [
  "discovery",
  "retrieval",
  "analysis",
  "transaction",
  "modification",
  "creation",
  "notification",
  "mechanics",
  "domain_spanning",
] as const;
/** The kind of work that an endpoint does. */
export type Capability = (typeof CAPABILITIES)[number];

/** The values of `semantic.impact`.   AGTP-API §7.1 */
export const IMPACTS = ["informational", "reversible", "irreversible"] as const;
/** The lasting effect of a call. */
export type Impact = (typeof IMPACTS)[number];

/** The structural metadata block of §7; keys are the wire's own. */
export interface SemanticBlock {
  readonly intent: string;
  readonly actor: string;
  readonly outcome: string;
  readonly capability: Capability;
  /** 0 to 1. */
  readonly confidence: number;
  readonly impact: Impact;
  readonly is_idempotent: boolean;
}

/** Per-endpoint deprecation, §6.5; keys are the wire's own. */
export interface EndpointDeprecation {
  readonly deprecated_in: string;
  readonly removed_in?: string;
  readonly successor?: { readonly method?: string; readonly path?: string };
}

/** A function of a handler module.   §12.2 */
export interface RegisteredFunctionBinding {
  readonly type: "registered_function";
  /** Dotted path: `a.b.c` is export `c` of module `a/b` under the handlers root. */
  readonly function: string;
}

/** A recipe, by name.   §12.1 */
export interface CompositionBinding {
  readonly type: "composition";
  readonly recipe: string;
}

/** The HTTP methods an external service may be called with.   §12.3 */
export const UPSTREAM_METHODS = [
  "GET",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "HEAD",
  "OPTIONS",
] as const;
/** A method of an upstream's HTTP API. */
export type UpstreamMethod = (typeof UPSTREAM_METHODS)[number];

/** The five errors an external_service endpoint must declare, §12.3. */
export const UPSTREAM_ERRORS = [
  "upstream_timeout",
  "upstream_connection_error",
  "upstream_malformed_response",
  "upstream_authentication_failed",
  "upstream_error",
] as const;
export type UpstreamError = (typeof UPSTREAM_ERRORS)[number];

/** An external service as loaded: `${VAR}` replaced, the CA read. */
export interface ExternalServiceBinding {
  readonly type: "external_service";
  /** https URL; `{name}` is taken from the input and percent-encoded. */
  readonly url: string;
  readonly method: UpstreamMethod;
  readonly timeoutMs: number;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca?: string;
  readonly maxResponseBytes: number;
  readonly headers: Readonly<Record<string, string>>;
  /** AGTP field -> upstream query parameter. */
  readonly query: Readonly<Record<string, string>>;
  /** AGTP name -> upstream name. */
  readonly inputTransform: Readonly<Record<string, string>>;
  /** AGTP name -> upstream name; inverted on the way back. */
  readonly outputTransform: Readonly<Record<string, string>>;
  /** Upstream HTTP status as a string -> declared error. */
  readonly errorMap: Readonly<Record<string, string>>;
  /** Absent: JSON both ways, no field in a header, lists by repetition. */
  readonly encoding?: UpstreamEncoding;
}

/** The sixth upstream error, of tools whose definition is another one than was reviewed. */
export const DEFINITION_CHANGED = "upstream_definition_changed";

/** A tool of an MCP server; the manifest calls it an external service.   §12.3 */
export interface McpToolBinding {
  readonly type: "mcp_tool";
  /** The name of a `[[mcp.servers]]`. */
  readonly server: string;
  readonly tool: string;
  /** The pin: `sha256:` of the reviewed definition. */
  readonly definition: string;
  /** The tool's arguments, `{field}` standing for the input's; absent: the input itself. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** `tool_error` -> declared error. */
  readonly errorMap: Readonly<Record<string, string>>;
}

/** The handler of an endpoint, as its file declares it.   §12 */
export type HandlerBinding =
  | RegisteredFunctionBinding
  | CompositionBinding
  | ExternalServiceBinding
  | McpToolBinding;

/** One endpoint as its file declares it, validated but not yet bound. */
export interface EndpointDefinition {
  /** The declaring file, relative to the deployment directory; "" for a built-in. */
  readonly file: string;
  readonly method: string;
  /** A path template: `/customers/{customer_id}`. */
  readonly path: string;
  readonly description: string;
  readonly namespace?: string;
  /** The name of the tool that it is for MCP clients; else one is derived. */
  readonly tool?: string;
  readonly semantic: SemanticBlock;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly errors: readonly string[];
  readonly requiredScopes: readonly string[];
  /** Set: each call needs this approval, whatever the rules of the server say. */
  readonly approval?: "operator";
  readonly deprecated?: EndpointDeprecation;
  readonly handler: HandlerBinding;
}
