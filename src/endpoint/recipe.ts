/**
 * A recipe: the reusable unit of composition logic. One recipe may back several endpoints, and is
 * what synthesis builds contracts from.   AGTP-API §10.5, §12.1
 */

import type { LinearRegex } from "../schema/linear-regex.ts";
import type { SemanticBlock } from "./endpoint.ts";

export type ParameterSource =
  /** The caller's input, by name. */
  | { readonly kind: "proposal"; readonly value: string }
  /** A captured output; a dotted path reaches into it (`facts.items`). */
  | { readonly kind: "previous_step"; readonly value: string }
  | { readonly kind: "constant"; readonly value: unknown };

/** One dispatch of a recipe. */
export interface RecipeStep {
  readonly method: string;
  /** May hold `{param}`, filled from this step's parameters. */
  readonly path: string;
  readonly captureAs?: string;
  readonly parameters: Readonly<Record<string, ParameterSource>>;
}

/** The requests that a recipe answers when a contract is negotiated. */
export interface RecipePattern {
  readonly methodExact: string;
  readonly pathExact?: string;
  readonly pathRegex?: LinearRegex;
  readonly hasParameters: readonly string[];
}

/** The rule by which the outputs of the steps become one body. */
export type AggregationMode = "last" | "merge" | "list";

/** The members of the body, each the member of that name of one step's output. */
interface PickAggregation {
  readonly mode: "pick";
  /** Member -> the `captureAs` of its step. */
  readonly members: Readonly<Record<string, string>>;
}

/** A mode that recipe files can name, or the mapping of a plan. */
export type Aggregation = AggregationMode | PickAggregation;

/** A recipe, as its file declares it. */
export interface Recipe {
  /** The declaring file, relative to the deployment directory. */
  readonly file: string;
  readonly name: string;
  /** Opaque, operator-defined. */
  readonly version: string;
  readonly description: string;
  readonly requiredScopes: readonly string[];
  /** Absent: the recipe backs endpoints but matches no proposal. */
  readonly pattern?: RecipePattern;
  readonly semantic?: SemanticBlock;
  readonly steps: readonly RecipeStep[];
  readonly aggregation: Aggregation;
}
