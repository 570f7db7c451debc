/**
 * The request to synthesis and its answer: a plan that the composition handler can run as it stands,
 * or the reason why there is none. Plans are plain JSON values, so that a contract can keep them.
 * AGTP-API §10.6, §10.7
 */

import type { SchemaType } from "../schema/schema-vocabulary.ts";
import type { RecipeLineage } from "./contract.ts";
import type { EndpointDefinition, Impact } from "./endpoint.ts";
import type { Recipe } from "./recipe.ts";
import type { LogEntry, PlanKind } from "./synthesis-log.ts";

/** An endpoint that an agent asks for; its schemas have been checked. */
export type Proposal = Pick<
  EndpointDefinition,
  "method" | "path" | "description" | "semantic" | "inputSchema" | "outputSchema"
>;

/** The agent's scopes.   AGTP-API §16.2 */
export interface ScopeCheck {
  /** Tells whether its scopes cover a required one. */
  covers(scope: string): boolean;
}

/** The plan of what was proposed. */
export interface SynthesisPlan {
  readonly kind: PlanKind;
  /** Steps, sources and aggregation; name and version mean something with a lineage only. */
  readonly recipe: Recipe;
  /** Of plans that came from a recipe.   §10.5 */
  readonly lineage?: RecipeLineage;
  /** The scopes that all steps together require; the agent's cover them. */
  readonly requiredScopes: readonly string[];
  /** The strongest of the steps. */
  readonly impact: Impact;
  readonly isIdempotent: boolean;
  /** Proposed inputs without which a step cannot be called, whether or not they were required. */
  readonly neededInputs: readonly string[];
  /** The types that the steps take each proposed input as; inputs they do not use are absent. */
  readonly inputTypes: Readonly<Record<string, readonly SchemaType[]>>;
  readonly log: readonly LogEntry[];
}

/** The gaps that prevent a plan, by name. */
export interface MissingParts {
  /** Asked outputs that nothing gives. */
  readonly outputs: readonly string[];
  /** Inputs of endpoints that would help, which nothing gives. */
  readonly inputs: readonly string[];
  /** Scopes that the agent would need. */
  readonly scopes: readonly string[];
}

/** Why there is no plan. `scope-required`: with more scopes there would be one, a 262. */
export interface PlanFailure {
  readonly kind: "failure";
  readonly reason: "composition-impossible" | "scope-required";
  readonly explanation: string;
  readonly missing: MissingParts;
  readonly log: readonly LogEntry[];
}

/** The limits of a plan beyond the policy. */
export interface PlanLimits {
  /** The most steps that it may have; never more than the policy allows. */
  readonly maxSteps?: number;
  /** Tells whether a step may be this pair. */
  allows?(pair: { readonly method: string; readonly path: string }): boolean;
}

/** Answers proposals; it never changes, and keeps nothing of what it was asked. */
export interface Synthesizer {
  plan(proposal: Proposal, authority: ScopeCheck, limits?: PlanLimits): SynthesisPlan | PlanFailure;
  /** The call of one endpoint with what is offered: what it lacks is got from others first. */
  planCall(
    target: EndpointDefinition,
    proposal: Proposal,
    authority: ScopeCheck,
    limits?: PlanLimits,
  ): SynthesisPlan | PlanFailure;
  /** Endpoints of a similar capability or in similar words, closest first.   §10.3 */
  similar(proposal: Proposal, limit: number): readonly EndpointDefinition[];
  /** The endpoint that comes closest to what was proposed, where one comes close. */
  counterProposal(proposal: Proposal): EndpointDefinition | undefined;
}
