/**
 * The endpoint primitive: a (method, path) pair with semantic block, schemas, errors and handler
 * binding.   AGTP-API §6, §7, §12
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

/** The semantic block of §7; keys are the wire's. */
export interface SemanticBlock {
  readonly intent: string;
  readonly actor: string;
  readonly outcome: string;
  readonly capability: Capability;
  /** The confidence, from 0 to 1. */
  readonly confidence: number;
  readonly impact: Impact;
  readonly is_idempotent: boolean;
}

/** The deprecation of an endpoint, §6.5; keys are the wire's. */
export interface EndpointDeprecation {
  readonly deprecated_in: string;
  readonly removed_in?: string;
  readonly successor?: { readonly method?: string; readonly path?: string };
}

/** A function of a handler module.   §12.2 */
export interface RegisteredFunctionBinding {
  readonly type: "registered_function";
  /** The dotted path: `a.b.c` is export `c` of module `a/b` under the handlers root. */
  readonly function: string;
}

/** A recipe, by name.   §12.1 */
export interface CompositionBinding {
  readonly type: "composition";
  readonly recipe: string;
}

/** The HTTP methods that an external service may be called with.   §12.3 */
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

/** An external service as loaded: `${VAR}` is substituted, and the CA is read. */
export interface ExternalServiceBinding {
  readonly type: "external_service";
  /** The https URL; `{name}` is replaced by the percent-encoded input field. */
  readonly url: string;
  readonly method: UpstreamMethod;
  readonly timeoutMs: number;
  /** The CAs to trust instead of the system's, as PEM text. */
  readonly ca?: string;
  readonly maxResponseBytes: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Upstream query parameters by AGTP field. */
  readonly query: Readonly<Record<string, string>>;
  /** Upstream names by AGTP name. */
  readonly inputTransform: Readonly<Record<string, string>>;
  /** Upstream names by AGTP name, which are mapped back in answers. */
  readonly outputTransform: Readonly<Record<string, string>>;
  /** Declared errors by upstream HTTP status, as a string. */
  readonly errorMap: Readonly<Record<string, string>>;
  /** Absent for the default: JSON both ways, no fields in headers, lists by repetition. */
  readonly encoding?: UpstreamEncoding;
}

/** A sixth upstream error, for a tool whose definition differs from the reviewed one. */
export const DEFINITION_CHANGED = "upstream_definition_changed";

/** A tool of an MCP server, which the manifest calls an external service.   §12.3 */
export interface McpToolBinding {
  readonly type: "mcp_tool";
  /** The name of a `[[mcp.servers]]`. */
  readonly server: string;
  readonly tool: string;
  /** The pin: the `sha256:` digest of the reviewed definition. */
  readonly definition: string;
  /** The template of the tool's arguments, with `{field}` for input fields; absent for the input itself. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** The declared error of `tool_error`. */
  readonly errorMap: Readonly<Record<string, string>>;
}

/** The handler of an endpoint, as its file declares it.   §12 */
export type HandlerBinding =
  | RegisteredFunctionBinding
  | CompositionBinding
  | ExternalServiceBinding
  | McpToolBinding;

/** An endpoint as its file declares it, validated but not bound yet. */
export interface EndpointDefinition {
  /** The declaring file, relative to the deployment directory; "" for a built-in. */
  readonly file: string;
  readonly method: string;
  /** The path template, such as `/customers/{customer_id}`. */
  readonly path: string;
  readonly description: string;
  readonly namespace?: string;
  /** The tool name for MCP clients; derived if absent. */
  readonly tool?: string;
  readonly semantic: SemanticBlock;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly errors: readonly string[];
  readonly requiredScopes: readonly string[];
  /** Set if each call needs this approval, regardless of the server's rules. */
  readonly approval?: "operator";
  readonly deprecated?: EndpointDeprecation;
  readonly handler: HandlerBinding;
}
