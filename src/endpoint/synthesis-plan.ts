/**
 * The request to synthesis and its answer: a plan that the composition handler can run as it stands,
 * or the reason why there is none. Plans are plain JSON values, so that a contract can keep them.
 * AGTP-API §10.6, §10.7
 */

import { given, quoteValue } from "../base/json-value.ts";
import type { SchemaType } from "../schema/schema-vocabulary.ts";
import type { RecipeLineage } from "./contract.ts";
import type { EndpointDefinition, Impact } from "./endpoint.ts";
import type { Recipe } from "./recipe.ts";

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

/** Explains why more scopes would be needed. */
export function explainScopes(missing: readonly string[]): string {
  return `the composed behaviour needs ${missing.join(", ")}, which the agent does not hold`;
}

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

/** The sources of plans, in the order in which they are asked. */
type PlanKind = "recipe" | "passthrough" | "planner";

interface LogEntry {
  readonly stage: PlanKind;
  readonly outcome: "considered" | "rejected" | "chosen";
  readonly message: string;
  /** The recipe or endpoint that it is about. */
  readonly recipe?: string;
  readonly method?: string;
  readonly path?: string;
  /** The number of a chosen step, from 1, and where each of its inputs comes from. */
  readonly step?: number;
  readonly inputs?: Readonly<Record<string, string>>;
}

export type LogSubject = Pick<LogEntry, "recipe" | "method" | "path">;

const MAX_ENTRIES = 50;
const MAX_REJECTED = 10;
const MAX_NAMES = 5;

/**
 * The `synthesis_log` of a 263: what was considered, chosen and rejected, and why. Whoever reads it pays for
 * the server's memory with nothing, so it is bounded, and so is what it quotes.
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

  /** Only the first few of a stage are told; the others are counted. */
  rejected(stage: PlanKind, { recipe, method, path }: LogSubject, why: () => string): void {
    const count = (this.#rejected.get(stage) ?? 0) + 1;
    this.#rejected.set(stage, count);
    if (count > MAX_REJECTED) return;
    const subject = given({ recipe, method, path });
    this.add({ stage, outcome: "rejected", message: why(), ...subject });
  }

  /** At most fifty entries, the last of which counts what was left out. */
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

/** Names as a message lists them: quoted, and only the first few. */
export function quoteNames(names: readonly string[]): string {
  const quoted = names.slice(0, MAX_NAMES).map(quoteValue).join(", ");
  return names.length > MAX_NAMES ? `${quoted} and ${names.length - MAX_NAMES} more` : quoted;
}
