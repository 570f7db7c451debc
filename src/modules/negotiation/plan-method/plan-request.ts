/**
 * A request of PLAN: a goal as words, a pair or wanted outputs; the available values; and constraints. Constraints that
 * cannot be applied are kept by name for the answer.   AGTP "PLAN"
 */

import { isRecord, type JsonRecord, recordIn } from "../../../base/json-value.ts";
import type { Pair } from "../../../catalog/pair.ts";
import type { FloorMethod } from "../../../dispatch/routes/floor.ts";
import { IMPACTS, type Impact } from "../../../endpoint/endpoint.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { SchemaViolation } from "../../../schema/schema.ts";
import { readProposedSchema } from "../propose/proposed-schema.ts";

export interface PlanRequest {
  /** The goal in words, possibly empty. */
  readonly words: string;
  readonly pair: Pair | undefined;
  /** The schema that the result must satisfy; undefined if any result will do. */
  readonly outputSchema: JsonSchema | undefined;
  readonly values: JsonRecord;
  /** The schema of inputs whose values follow at execution. */
  readonly inputSchema: JsonSchema | undefined;
  readonly maxSteps: number | undefined;
  readonly maxImpact: Impact;
  /** Entries are "METHOD" or "METHOD /path"; undefined allows all. */
  readonly available: ReadonlySet<string> | undefined;
  readonly excluded: ReadonlySet<string>;
  /** Unknown constraints. */
  readonly notApplied: readonly string[];
}

const TEXT = { type: "string", minLength: 1, maxLength: 4_096 };
const STEPS = { type: "integer", minimum: 1 };
const SCHEMA = { type: ["object", "boolean"] };
const PAIRS = {
  type: "array",
  maxItems: 256,
  items: {
    anyOf: [
      { type: "string", minLength: 1, maxLength: 2_048 },
      { type: "object", required: ["method"], properties: { method: TEXT, path: TEXT } },
    ],
  },
};
const NAMES = {
  type: "array",
  minItems: 1,
  maxItems: 64,
  items: { type: "string", maxLength: 256 },
};
const VALUES = { type: "object", maxProperties: 256 };
const WANTED = { inputs: VALUES, input: VALUES, outputs: NAMES, output_schema: SCHEMA };

/** Parameters of PLAN; `max_steps` is the reference implementation's. */
export const PLAN_SCHEMA: FloorMethod["inputSchema"] = {
  type: "object",
  required: ["goal"],
  properties: {
    goal: {
      type: ["string", "object"],
      minLength: 1,
      maxLength: 4_096,
      properties: { ...WANTED, intent: TEXT, description: TEXT, method: TEXT, path: TEXT },
    },
    constraints: {
      type: ["object", "array", "string"],
      maxProperties: 256,
      maxItems: 64,
      maxLength: 4_096,
      items: { type: "string", maxLength: 4_096 },
      properties: {
        ...{ max_steps: STEPS, max_cost: STEPS, max_impact: { enum: IMPACTS } },
        ...{ available_methods: PAIRS, excluded_methods: PAIRS, inputs: VALUES },
      },
    },
    available_methods: PAIRS,
    ...WANTED,
    input_schema: { type: "object" },
    max_steps: STEPS,
    context: { type: "object" },
  },
};

type Reading = { readonly kind: "request"; readonly request: PlanRequest } | Fault;
interface Fault {
  readonly kind: "fault";
  readonly violation: SchemaViolation;
}

const CONSTRAINTS = [
  ...["max_steps", "max_cost", "max_impact", "available_methods", "excluded_methods", "inputs"],
];
const PAIR = /^([A-Za-z]{3,32})[ \t]+(\/\S*)$/;

/** Reads valid parameters of PLAN. */
export function readPlanRequest(input: JsonRecord): Reading {
  const { goal } = input;
  const asked = recordIn(goal);
  const limits = recordIn(input["constraints"]);
  const output = readOutputs({ ...asked, ...input });
  if (output.kind === "fault") return output;
  const given = readSchema(input["input_schema"], "input_schema");
  if (given.kind === "fault") return given;
  const words =
    typeof goal === "string" ? goal : String(asked["intent"] ?? asked["description"] ?? "");
  const pair = readPair(asked) ?? readPair(words);
  if (words === "" && pair === undefined && output.schema === undefined) {
    return fault("/goal", "required", "must have an intent, a method and a path, or outputs");
  }
  const request: PlanRequest = {
    words,
    pair,
    outputSchema: output.schema,
    values: readValues(input, asked, limits),
    inputSchema: given.schema,
    maxSteps: smallest([input["max_steps"], limits["max_steps"], limits["max_cost"]]),
    maxImpact: IMPACTS.find((impact) => impact === limits["max_impact"]) ?? "irreversible",
    available: readPairs(input["available_methods"] ?? limits["available_methods"]),
    excluded: readPairs(limits["excluded_methods"]) ?? new Set(),
    notApplied: unknownConstraints(input["constraints"]),
  };
  return { kind: "request", request };
}

type SchemaReading = { readonly kind: "schema"; readonly schema: JsonSchema | undefined } | Fault;

function readOutputs({ output_schema: written, outputs }: JsonRecord): SchemaReading {
  if (written === undefined && Array.isArray(outputs)) {
    const names = [...new Set(outputs.map(String))];
    const properties = Object.fromEntries(names.map((name) => [name, {}]));
    return { kind: "schema", schema: { type: "object", required: names, properties } };
  }
  return readSchema(written, "output_schema");
}

function readSchema(written: unknown, place: "input_schema" | "output_schema"): SchemaReading {
  if (written === undefined) return { kind: "schema", schema: undefined };
  const read = readProposedSchema(written, place);
  if ("schema" in read) return { kind: "schema", schema: read.schema.schema };
  return fault(`/${place}${read.fault.path}`, "schema", read.fault.message);
}

function readPair(from: JsonRecord | string): Pair | undefined {
  if (typeof from === "string") {
    const [, method, path] = PAIR.exec(from.trim()) ?? [];
    return method === undefined || path === undefined ? undefined : { method, path };
  }
  const { method, path = "/" } = from;
  return typeof method === "string" && typeof path === "string" ? { method, path } : undefined;
}

/** Reads the values; the draft has no parameter for them, so constraints may hold them, too. */
function readValues(input: JsonRecord, asked: JsonRecord, limits: JsonRecord): JsonRecord {
  const free = Object.entries(limits).filter(([name]) => !CONSTRAINTS.includes(name));
  const given = [
    limits["inputs"],
    asked["input"],
    asked["inputs"],
    input["input"],
    input["inputs"],
  ];
  const members = given.flatMap((values) => (isRecord(values) ? Object.entries(values) : []));
  // `fromEntries` defines members, so that even `__proto__` becomes a plain one.
  return Object.fromEntries([...free, ...members]);
}

function readPairs(list: unknown): ReadonlySet<string> | undefined {
  if (!Array.isArray(list)) return undefined;
  return new Set(
    list.map((one) => {
      if (!isRecord(one)) return String(one).trim();
      const { method, path } = one;
      return path === undefined ? String(method) : `${String(method)} ${String(path)}`;
    }),
  );
}

function unknownConstraints(constraints: unknown): readonly string[] {
  if (typeof constraints === "string") return [constraints];
  return Array.isArray(constraints) ? constraints.map(String) : [];
}

function smallest(numbers: readonly unknown[]): number | undefined {
  const given = numbers.filter((one) => typeof one === "number");
  return given.length === 0 ? undefined : Math.min(...given);
}

function fault(path: string, keyword: string, message: string): Fault {
  return { kind: "fault", violation: { path, keyword, message } };
}
