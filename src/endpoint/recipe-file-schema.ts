/** The schema of a recipe file for editors; its key tables are those of the readers.   AGTP-API §12.1 */
import {
  agtpPath,
  choice,
  list,
  methodName,
  optional,
  type Properties,
  type Schema,
  scopeToken,
  table,
  word,
} from "../schema/section-field.ts";
import { anyText, distinct, semanticSchema } from "./endpoint-file-schema.ts";

/** The modes of combining the steps' outputs into one result. */
export const AGGREGATION_MODES = ["last", "merge", "list"] as const;
export const SOURCE_KINDS = ["proposal", "previous_step", "constant"] as const;

/** The keys of `[recipe.pattern]`. */
export const PATTERN_KEYS: Properties = {
  method_exact: optional(methodName("The method that this recipe answers for")),
  name_exact: optional(methodName("The older name of method_exact")),
  path_exact: optional(agtpPath("The path that it answers for")),
  path_regex: { ...anyText("Or a pattern of paths, at most 256 characters"), maxLength: 256 },
  has_parameters: distinct(anyText(""), "Parameters that what is asked for must have"),
};

/** The keys of a step's parameter. */
export const SOURCE_KEYS: Properties = {
  kind: optional(
    choice("proposal", SOURCE_KINDS, "Caller's input, a step's output, or a constant"),
  ),
  value: { description: "Name of the input, captured output with .members, or the constant" },
};

/** The keys of `[[recipe.steps]]`. */
export const STEP_KEYS: Properties = {
  method: optional(methodName("Method of the step")),
  path: { ...agtpPath("Path of the step; {name} is one of its parameters"), default: "/" },
  capture_as: optional(
    word(
      "",
      "^[A-Za-z_][A-Za-z0-9_]{0,63}$",
      "an identifier",
      "Name of its output for later steps",
    ),
  ),
  parameters: {
    type: "object",
    description: "Parameters of the step by name",
    additionalProperties: table("", SOURCE_KEYS, ["kind", "value"]),
  },
};

/** The keys of `[[recipe]]`. */
export const RECIPE_KEYS: Properties = {
  name: anyText("Name by which endpoints and contracts call it"),
  version: {
    ...{ type: ["string", "integer"], pattern: "\\S" },
    description: "Raised with every change; contracts keep the one that they were made from",
  },
  description: anyText("What it does"),
  required_scopes: distinct(
    scopeToken("domain:action"),
    "Scopes that a caller must hold, all of them",
  ),
  pattern: {
    ...optional(table("What it answers for in negotiation", PATTERN_KEYS)),
    oneOf: [{ required: ["method_exact"] }, { required: ["name_exact"] }],
    not: { required: ["path_exact", "path_regex"] },
  },
  semantic: optional(semanticSchema),
  steps: {
    ...list(table("", STEP_KEYS, ["method"]), "The steps in order"),
    ...{ minItems: 1, maxItems: 64 },
  },
  aggregation: table("How the results become one", {
    mode: choice("last", AGGREGATION_MODES, "The last one, all merged, or a list"),
  }),
};

export const recipeFileSchema: Schema = {
  title: "A recipe file",
  ...optional(
    table(
      "Compositions of what the server has",
      {
        recipe: {
          ...optional(list(table("A recipe", RECIPE_KEYS, ["name", "steps"]), "The recipes")),
          maxItems: 256,
        },
      },
      ["recipe"],
    ),
  ),
};
