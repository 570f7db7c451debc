/**
 * The schemas of an agent's endpoints: the manifest's own, each nested in its member. Input objects are closed, output
 * objects open.   AGTP-API §6.4, §13.3
 */

import { escapeToken } from "../../../base/dotted-key.ts";
import { isRecord } from "../../../base/json-value.ts";
import { closedObject, type JsonSchema } from "../../../schema/json-schema.ts";
import { relocateSchema } from "../../../schema/local-reference.ts";
import type { AcpSpecs } from "../manifest/manifest.ts";
import { RUN_STATES } from "../runs/run.ts";

/** The statuses of a confirmation.   AGTP "CONFIRM" */
const CONFIRMATIONS = ["accepted", "rejected", "deferred"] as const;

/** The maximum and default number of events per page. */
export const MAX_EVENTS_PAGE = 200;
export const USUAL_EVENTS_PAGE = 50;

const ID = { type: "string", minLength: 1, maxLength: 64 } as const;
const WAIT = {
  ...{ type: "number", minimum: 0, maximum: 86_400, default: 0 },
  description: "How long to wait for the run; 0 answers at once.",
} as const;
const METADATA = {
  ...{ type: "object", maxProperties: 32, description: "Kept with the run by the agent's server." },
} as const;

/** The parameters of EXECUTE. `config` is optional if an empty one is valid. */
export function executeSchema({ input, config, capabilities }: AcpSpecs): JsonSchema {
  const isConfigOptional = config.check({}) === undefined;
  return closedObject(
    {
      input: nestSchema(input.schema, "/properties/input"),
      config: nestSchema(config.schema, "/properties/config"),
      ...(capabilities.threads ? { thread_id: ID } : {}),
      metadata: METADATA,
      wait_seconds: WAIT,
    },
    isConfigOptional ? ["input"] : ["input", "config"],
  );
}

/** The parameters that name a run. */
export const RUN_SCHEMA: JsonSchema = closedObject({ run_id: ID }, ["run_id"]);

/** The parameters that ask for the events of a run. */
export const EVENTS_SCHEMA: JsonSchema = closedObject(
  {
    run_id: ID,
    limit: { type: "integer", minimum: 1, maximum: MAX_EVENTS_PAGE },
    continuation_token: { type: "string", maxLength: 32 },
  },
  ["run_id"],
);

/**
 * The parameters of CONFIRM. Only the handler knows which interrupt is answered, so with `any` the value is not checked
 * against interrupts that do not apply.
 */
export function confirmSchema({ interrupts }: AcpSpecs, taken: "declared" | "any"): JsonSchema {
  const at = "/properties/resume_value";
  const [only, ...others] = interrupts;
  const resume =
    taken === "any"
      ? {}
      : only === undefined || others.length === 0
        ? nestSchema(only?.resume.schema ?? {}, at)
        : {
            anyOf: interrupts.map((one, index) =>
              nestSchema(one.resume.schema, `${at}/anyOf/${index}`),
            ),
          };
  return closedObject(
    {
      run_id: ID,
      interrupt_id: {
        ...ID,
        description: "The question that is answered; default: what is asked.",
      },
      status: { enum: CONFIRMATIONS },
      reason: { type: "string", maxLength: 2000 },
      resume_value: resume,
      wait_seconds: WAIT,
    },
    ["run_id", "status"],
  );
}

export const CREATE_THREAD_SCHEMA: JsonSchema = closedObject({ metadata: METADATA }, []);

/** The parameters that name a thread. */
export const THREAD_SCHEMA: JsonSchema = closedObject({ thread_id: ID }, ["thread_id"]);

export const EMPTY_SCHEMA: JsonSchema = closedObject({}, []);

/** A run of any status. */
export function runOutputSchema({ output, interrupts }: AcpSpecs): JsonSchema {
  const text = { type: "string" };
  return {
    type: "object",
    required: ["run_id", "status"],
    properties: {
      run_id: text,
      status: { enum: RUN_STATES },
      thread_id: text,
      created_at: { ...text, format: "date-time" },
      updated_at: { ...text, format: "date-time" },
      output: nestSchema(output.schema, "/properties/output"),
      interrupt_id: text,
      escalation_id: text,
      interrupt_type: interrupts.length === 0 ? text : { enum: interrupts.map(({ type }) => type) },
      payload: { description: "What an interrupted run asks, by its interrupt_type." },
      resume_schema: { description: "What CONFIRM has to send as resume_value." },
      error: { type: "object", required: ["code", "message"] },
    },
    oneOf: [
      { properties: { status: { const: "success" } }, required: ["output"] },
      {
        properties: { status: { const: "interrupted" } },
        required: ["interrupt_type", "payload", "resume_schema"],
      },
      { properties: { status: { enum: ["pending", "cancelled"] } } },
      { properties: { status: { enum: ["error", "timeout"] } }, required: ["error"] },
    ],
  };
}

/** `$id` and `$schema` are only allowed at the root; anchors are replaced by pointers. */
const NAMES: ReadonlySet<string> = new Set(["$id", "$schema", "$anchor"]);

/** Moves a schema to a JSON Pointer within another, such as `/properties/input`. */
export function nestSchema(schema: JsonSchema, pointer: string): JsonSchema {
  const anchors = anchorsOf(schema);
  return relocateSchema(schema, (reference) => rebase(reference, pointer, anchors), NAMES);
}

/** Maps anchors to pointers; anchors are only supported in `$defs`. */
function anchorsOf({ $defs }: JsonSchema): ReadonlyMap<string, string> {
  if (!isRecord($defs)) return new Map();
  return new Map(
    Object.entries($defs).flatMap(([name, one]): (readonly [string, string])[] => {
      const anchor = isRecord(one) ? one["$anchor"] : undefined;
      const token = escapeToken(name);
      return typeof anchor === "string" ? [[anchor, `/$defs/${encodeURIComponent(token)}`]] : [];
    }),
  );
}

function rebase(reference: string, pointer: string, anchors: ReadonlyMap<string, string>): string {
  const fragment = reference.slice(1);
  if (fragment === "" || fragment.startsWith("/")) return `#${pointer}${fragment}`;
  return `#${pointer}${anchors.get(fragment) ?? ""}`;
}
