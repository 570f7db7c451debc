/**
 * A contract: an endpoint that did not exist, negotiated by one agent and bound to it, to the recipe
 * version captured when it was made, and to its expiry.   AGTP-API §10.1.4, §10.5
 */
import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { EndpointDefinition, SemanticBlock } from "./endpoint.ts";
import type { Recipe } from "./recipe.ts";

/** A contract's origin; the draft keeps `pre-registered` for a future one.   AGTP-API §10.1.6 */
export type NegotiationOrigin = "rcns-gate" | "propose";

/** The recipe a contract was made from, at the version it was then; absent for a passthrough. */
export interface RecipeLineage {
  readonly recipe_name: string;
  readonly recipe_version: string;
}

/** The endpoint as it was agreed upon; keys are the wire's own. */
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
 * `offered`: previewed by a 461 and not presented yet. `active`: agreed upon. `released`, `revoked`
 * and `expired` are over; what is remembered of them tells their owner so.
 */
export type ContractState = "offered" | "active" | "released" | "revoked" | "expired";

export interface Contract {
  /** Opaque; also the value of the Contract-Synthesized header. */
  readonly synthesisId: string;
  /** The only agent that it is for. */
  readonly agentId: string;
  readonly endpoint: ContractEndpoint;
  /** The plan that runs it, for its whole life. */
  readonly plan: Pick<Recipe, "name" | "version" | "steps" | "aggregation">;
  readonly lineage: RecipeLineage | undefined;
  /** 64 lower-case hex digits. */
  readonly contractHash: string;
  readonly origin: NegotiationOrigin;
  /** The session that proposed it. */
  readonly sessionId: string | undefined;
  readonly isPersistent: boolean;
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly state: ContractState;
  /** Why it is over. */
  readonly reason?: string;
}

/** SHA-256 over the canonical form of the endpoint with its lineage.   AGTP-API §10.1.6 */
export function hashContract(
  endpoint: ContractEndpoint,
  lineage: RecipeLineage | undefined,
): string {
  const definition = { endpoint, recipe_lineage: lineage ?? null };
  return hash("sha256", canonicalize(definition) ?? "");
}

/** A contract as DISCOVER /contracts lists it.   AGTP-API §5.8.7 */
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

/** A contract with all that INSPECT shows of it: the plan and the state too. */
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

/** RFC 3339. */
export function timestamp(at: number): string {
  return new Date(at).toISOString();
}

/** The definition of what was agreed upon, as registered ones have it.   AGTP-API §6.2, §10.7 */
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
