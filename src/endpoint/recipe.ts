/**
 * A recipe: a reusable composition. It may back several endpoints, and synthesis builds contracts
 * from it.   AGTP-API §10.5, §12.1
 */

import type { LinearRegex } from "../schema/linear-regex.ts";
import type { SemanticBlock } from "./endpoint.ts";

export type ParameterSource =
  /** A member of the caller's input, by name. */
  | { readonly kind: "proposal"; readonly value: string }
  /** A captured output; a dotted path selects a value within it (`facts.items`). */
  | { readonly kind: "previous_step"; readonly value: string }
  | { readonly kind: "constant"; readonly value: unknown };

/** One dispatch of a recipe. */
export interface RecipeStep {
  readonly method: string;
  /** The path, which may hold `{param}`, filled from this step's parameters. */
  readonly path: string;
  readonly captureAs?: string;
  readonly parameters: Readonly<Record<string, ParameterSource>>;
}

/** The requests that a recipe matches when a contract is negotiated. */
export interface RecipePattern {
  readonly methodExact: string;
  readonly pathExact?: string;
  readonly pathRegex?: LinearRegex;
  readonly hasParameters: readonly string[];
}

/** The rule that combines the steps' outputs into one body. */
export type AggregationMode = "last" | "merge" | "list";

/** A body that takes each member from the output of one step. */
interface PickAggregation {
  readonly mode: "pick";
  /** The `captureAs` of the step that each member comes from. */
  readonly members: Readonly<Record<string, string>>;
}

/** A mode that recipe files can name, or a plan's mapping. */
export type Aggregation = AggregationMode | PickAggregation;

/** A recipe, as its file declares it. */
export interface Recipe {
  /** The declaring file, relative to the deployment directory. */
  readonly file: string;
  readonly name: string;
  /** The operator's version, an opaque text. */
  readonly version: string;
  readonly description: string;
  readonly requiredScopes: readonly string[];
  /** Absent if the recipe backs endpoints but matches no proposal. */
  readonly pattern?: RecipePattern;
  readonly semantic?: SemanticBlock;
  readonly steps: readonly RecipeStep[];
  readonly aggregation: Aggregation;
}
