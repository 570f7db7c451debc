/**
 * A contract: an endpoint negotiated by one agent and bound to that agent, to the plan captured
 * when it was made, and to an expiry.   AGTP-API §10.1.4, §10.5
 */
import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { EndpointDefinition, SemanticBlock } from "./endpoint.ts";
import type { Recipe } from "./recipe.ts";

/** A contract's origin; the draft keeps `pre-registered` for a future one.   AGTP-API §10.1.6 */
export type NegotiationOrigin = "rcns-gate" | "propose";

/** The recipe that a contract was made from, with its version at that time; absent for a passthrough. */
export interface RecipeLineage {
  readonly recipe_name: string;
  readonly recipe_version: string;
}

/** The agreed endpoint; keys are the wire's. */
export interface ContractEndpoint {
  readonly method: string;
  readonly path: string;
  readonly description: string;
  readonly semantic: SemanticBlock;
  readonly input_schema: JsonSchema;
  readonly output_schema: JsonSchema;
  readonly errors: readonly string[];
  readonly required_scopes: readonly string[];
  readonly handler: { readonly type: "composition" };
}

/**
 * The state of a contract. `offered`: previewed by a 461 and not presented yet. `active`: agreed.
 * `released`, `revoked`, `expired`: ended, and remembered only to tell the owner so.
 */
export type ContractState = "offered" | "active" | "released" | "revoked" | "expired";

export interface Contract {
  /** The opaque id, which is also the value of the Contract-Synthesized header. */
  readonly synthesisId: string;
  /** The only agent that may use it. */
  readonly agentId: string;
  readonly endpoint: ContractEndpoint;
  /** The plan that runs for its whole life. */
  readonly plan: Pick<Recipe, "name" | "version" | "steps" | "aggregation">;
  readonly lineage: RecipeLineage | undefined;
  /** 64 lower-case hex digits. */
  readonly contractHash: string;
  readonly origin: NegotiationOrigin;
  /** The session in which it was proposed. */
  readonly sessionId: string | undefined;
  readonly isPersistent: boolean;
  /** The time of issue, in milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly state: ContractState;
  /** The reason why it ended. */
  readonly reason?: string;
}

/** Hashes the canonical form of the endpoint and its lineage with SHA-256.   AGTP-API §10.1.6 */
export function hashContract(
  endpoint: ContractEndpoint,
  lineage: RecipeLineage | undefined,
): string {
  const definition = { endpoint, recipe_lineage: lineage ?? null };
  return hash("sha256", canonicalize(definition) ?? "");
}

/** Returns a contract's entry in DISCOVER /contracts.   AGTP-API §5.8.7 */
export function contractEntry(contract: Contract): Record<string, unknown> {
  return {
    synthesis_id: contract.synthesisId,
    method: contract.endpoint.method,
    path: contract.endpoint.path,
    originating_agent_id: contract.agentId,
    recipe_lineage: contract.lineage ?? null,
    contract_hash: contract.contractHash,
    negotiation_origin: contract.origin,
    issued_at: timestamp(contract.issuedAt),
    expires_at: timestamp(contract.expiresAt),
    persistent: contract.isPersistent,
  };
}

/** Returns a contract as INSPECT shows it, with its plan and state. */
export function contractDetails(contract: Contract): Record<string, unknown> {
  const { plan, state, reason, endpoint, lineage } = contract;
  return {
    ...contractEntry(contract),
    recipe_name: lineage?.recipe_name ?? null,
    recipe_version: lineage?.recipe_version ?? null,
    state,
    ...(reason === undefined ? {} : { state_reason: reason }),
    endpoint,
    plan: plan.steps.map(({ method, path, captureAs }) => ({
      method,
      path,
      ...(captureAs === undefined ? {} : { capture_as: captureAs }),
    })),
  };
}

/** Formats a time as RFC 3339. */
export function timestamp(at: number): string {
  return new Date(at).toISOString();
}

/** Returns the agreed endpoint in the form of a registered definition.   AGTP-API §6.2, §10.7 */
export function contractDefinition(endpoint: ContractEndpoint, recipe = ""): EndpointDefinition {
  return {
    file: "",
    method: endpoint.method,
    path: endpoint.path,
    description: endpoint.description,
    semantic: endpoint.semantic,
    inputSchema: endpoint.input_schema,
    outputSchema: endpoint.output_schema,
    errors: endpoint.errors,
    requiredScopes: endpoint.required_scopes,
    handler: { type: "composition", recipe },
  };
}
