/**
 * The input and output of synthesis: a plan that the composition handler can run as it is, or the
 * reason why there is none. Plans are plain JSON, so that a contract can store them. AGTP-API
 * §10.6, §10.7
 */

import { given, quoteValue } from "../base/json-value.ts";
import type { SchemaType } from "../schema/schema-vocabulary.ts";
import type { RecipeLineage } from "./contract.ts";
import type { EndpointDefinition, Impact } from "./endpoint.ts";
import type { Recipe } from "./recipe.ts";

/** An endpoint that an agent proposes; its schemas are checked. */
export type Proposal = Pick<
  EndpointDefinition,
  "method" | "path" | "description" | "semantic" | "inputSchema" | "outputSchema"
>;

/** The agent's scopes.   AGTP-API §16.2 */
export interface ScopeCheck {
  /** Tells whether the agent's scopes cover a required one. */
  covers(scope: string): boolean;
}

/** A plan for a proposal. */
export interface SynthesisPlan {
  readonly kind: PlanKind;
  /** Steps, sources and aggregation; name and version have a meaning only with a lineage. */
  readonly recipe: Recipe;
  /** Set for a plan that comes from a recipe.   §10.5 */
  readonly lineage?: RecipeLineage;
  /** The scopes that the steps require, all of which the agent's cover. */
  readonly requiredScopes: readonly string[];
  /** The strongest impact of its steps. */
  readonly impact: Impact;
  readonly isIdempotent: boolean;
  /** Proposed inputs without which a step cannot be called, even if the proposal has them as optional. */
  readonly neededInputs: readonly string[];
  /** The types that the steps accept for each used input. */
  readonly inputTypes: Readonly<Record<string, readonly SchemaType[]>>;
  readonly log: readonly LogEntry[];
}

/** The gaps that prevent a plan. */
export interface MissingParts {
  /** Proposed outputs that no endpoint gives. */
  readonly outputs: readonly string[];
  /** Inputs of helpful endpoints that nothing supplies. */
  readonly inputs: readonly string[];
  /** Scopes that the agent lacks. */
  readonly scopes: readonly string[];
}

/**
 * The reason why there is no plan. `scope-required`: further scopes would permit one, so the answer
 * is a 262.
 */
export interface PlanFailure {
  readonly kind: "failure";
  readonly reason: "composition-impossible" | "scope-required";
  readonly explanation: string;
  readonly missing: MissingParts;
  readonly log: readonly LogEntry[];
}

/** Says which further scopes are needed. */
export function explainScopes(missing: readonly string[]): string {
  return `the composed behaviour needs ${missing.join(", ")}, which the agent does not hold`;
}

export interface PlanLimits {
  /** The maximum number of steps, within the policy's limit. */
  readonly maxSteps?: number;
  /** Tells whether a step may call this pair. */
  allows?(pair: { readonly method: string; readonly path: string }): boolean;
}

/** Plans proposals. It never changes, and keeps nothing of a proposal. */
export interface Synthesizer {
  plan(proposal: Proposal, authority: ScopeCheck, limits?: PlanLimits): SynthesisPlan | PlanFailure;
  /**
   * Plans a call of one endpoint with the offered inputs; missing ones are obtained from other
   * endpoints first.
   */
  planCall(
    target: EndpointDefinition,
    proposal: Proposal,
    authority: ScopeCheck,
    limits?: PlanLimits,
  ): SynthesisPlan | PlanFailure;
  /** Returns endpoints of a similar capability or wording, closest first.   §10.3 */
  similar(proposal: Proposal, limit: number): readonly EndpointDefinition[];
  /** Returns the closest endpoint to a proposal, if one is close. */
  counterProposal(proposal: Proposal): EndpointDefinition | undefined;
}

/** The sources of plans, in order of preference. */
type PlanKind = "recipe" | "passthrough" | "planner";

interface LogEntry {
  readonly stage: PlanKind;
  readonly outcome: "considered" | "rejected" | "chosen";
  readonly message: string;
  /** The recipe or endpoint of the entry. */
  readonly recipe?: string;
  readonly method?: string;
  readonly path?: string;
  /** The number of a chosen step, from 1, and the source of each of its inputs. */
  readonly step?: number;
  readonly inputs?: Readonly<Record<string, string>>;
}

export type LogSubject = Pick<LogEntry, "recipe" | "method" | "path">;

const MAX_ENTRIES = 50;
const MAX_REJECTED = 10;
const MAX_NAMES = 5;

/**
 * The `synthesis_log` of a 263: the candidates, chosen or rejected, with reasons. It is bounded,
 * and so are its quotations, since its size costs the reader nothing and the server memory.
 */
export class SynthesisLog {
  readonly #entries: LogEntry[] = [];
  readonly #rejected = new Map<PlanKind, number>();

  add(entry: LogEntry): void {
    this.#entries.push(entry);
  }

  considered(stage: PlanKind, message: string): void {
    this.add({ stage, outcome: "considered", message });
  }

  /** Adds a rejected candidate; only the first few of a stage are listed, the others counted. */
  rejected(stage: PlanKind, { recipe, method, path }: LogSubject, why: () => string): void {
    const count = (this.#rejected.get(stage) ?? 0) + 1;
    this.#rejected.set(stage, count);
    if (count > MAX_REJECTED) return;
    const subject = given({ recipe, method, path });
    this.add({ stage, outcome: "rejected", message: why(), ...subject });
  }

  /** Returns at most fifty entries; the last one counts those left out. */
  entries(): readonly LogEntry[] {
    const all = [...this.#entries];
    for (const [stage, count] of this.#rejected) {
      if (count <= MAX_REJECTED) continue;
      const message = `${count - MAX_REJECTED} more were rejected`;
      all.push({ stage, outcome: "rejected", message });
    }
    const last = all.at(-1);
    if (all.length <= MAX_ENTRIES || last === undefined) return all;
    const message = `${all.length - MAX_ENTRIES + 1} more entries were left out`;
    return [
      ...all.slice(0, MAX_ENTRIES - 1),
      { stage: last.stage, outcome: "considered", message },
    ];
  }
}

/** Quotes names for a message, up to a limit. */
export function quoteNames(names: readonly string[]): string {
  const quoted = names.slice(0, MAX_NAMES).map(quoteValue).join(", ");
  return names.length > MAX_NAMES ? `${quoted} and ${names.length - MAX_NAMES} more` : quoted;
}
