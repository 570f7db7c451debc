/**
 * One step of a plan as the wire says it: the invocation, and what is known of it before it is
 * made. AGTP "PLAN"
 */

import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { type DescribeMethod, impactOf } from "../../../dispatch/routes/floor.ts";
import type { Impact } from "../../../endpoint/endpoint.ts";
import type { ParameterSource } from "../../../endpoint/recipe.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { strongestImpact } from "../synthesis/impact.ts";
import type { StepReach } from "../synthesis/match-recipe.ts";

/** One invocation, in the words of the wire. */
export interface PlannedStep {
  readonly step: number;
  readonly method: string;
  /** Filled in as far as its values are known; a parameter that is left is in the input. */
  readonly path: string;
  /**
   * The input to send. A member `{kind, value}` is no value but says where to take one from, as in
   * a recipe: `previous_step`, `proposal`, or `constant` for a value that looks like that itself.
   */
  readonly input: JsonRecord;
  /** The name that later steps know the answer by. */
  readonly capture_as: string;
  readonly purpose: string;
  readonly required_scopes: readonly string[];
  readonly impact: Impact;
  readonly is_idempotent: boolean;
  /** The confidence of its operator in what it does. */
  readonly confidence: number;
  readonly cost: Cost;
  readonly output_schema: JsonSchema;
}

/** The cost to the caller: how often it has to call. */
export interface Cost {
  readonly unit: "call";
  readonly amount: number;
}

/** Tells whether a member of a step's input says where to take a value from. */
export function isSource(member: unknown): member is ParameterSource {
  return isRecord(member) && Object.keys(member).sort().join(" ") === "kind value";
}

/** The facts of a step: the most that anything it may arrive at could take and do. */
export function factsOf(
  method: string,
  reached: readonly StepReach[],
  describe: DescribeMethod,
): Omit<PlannedStep, "step" | "method" | "path" | "input" | "capture_as"> {
  const endpoints = reached.flatMap((one) => (one.kind === "endpoint" ? [one.endpoint] : []));
  const impacts = reached.map((one) =>
    one.kind === "endpoint" ? one.endpoint.semantic.impact : one.impact,
  );
  const [endpoint, ...others] = endpoints;
  return {
    purpose: endpoint?.semantic.intent ?? describe(method).description,
    required_scopes: [...new Set(endpoints.flatMap(({ requiredScopes }) => requiredScopes))],
    impact: reached.length === 0 ? impactOf(method) : strongestImpact(impacts),
    is_idempotent:
      endpoints.length === 0
        ? impactOf(method) === "informational"
        : endpoints.every(({ semantic }) => semantic.is_idempotent),
    confidence: Math.min(1, ...endpoints.map(({ semantic }) => semantic.confidence)),
    cost: { unit: "call", amount: 1 },
    output_schema: endpoint === undefined || others.length > 0 ? {} : endpoint.outputSchema,
  };
}
