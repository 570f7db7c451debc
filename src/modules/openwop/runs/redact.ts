/**
 * Redacts secrets in everything that runs store and show. In a JSON Schema a member such as `password` is a name and
 * not a credential, so only the schema's texts are examined.   OpenWOP SR-1
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { PortValue, WorkflowDefinition, WorkflowVariable } from "../workflows/workflow.ts";
import type { EventDraft } from "./run.ts";

/** Replaces suspected secrets in a value. */
export type Redact = <Value>(value: Value) => Value;

/** Redacts the payload of an event for storage. */
export function redactPayload(
  { type, payload }: Pick<EventDraft, "type" | "payload">,
  redact: Redact,
): JsonRecord {
  if (type !== "node.suspended" && type !== "interrupt.requested") return redact(payload);
  const { data } = payload;
  const shown = withSchemas(payload, redact);
  return isRecord(data) ? { ...shown, data: withSchemas(data, redact) } : shown;
}

/** Redacts a definition for display. */
export function redactDefinition(definition: WorkflowDefinition, redact: Redact): JsonRecord {
  const nodes = definition.nodes.map((node) => {
    const { typeId, config, inputs } = node;
    const isAsking = typeId === "core.clarificationGate";
    return {
      ...redact(node),
      ...(isAsking ? { config: withSchemas(config, redact) } : {}),
      inputs: Object.fromEntries(Object.entries(inputs).map(redactPort(redact))),
    };
  });
  const variables = definition.variables.map((one) => redactDefault(redact(one), redact));
  return { ...withSchemas({ ...definition }, redact), nodes, variables };
}

/** The input's name says if a static value is secret; other ports only state a source. */
function redactPort(redact: Redact): (input: readonly [string, PortValue]) => [string, unknown] {
  return ([name, port]) => [
    redact(name),
    port.type === "static"
      ? { ...port, value: redactMember(name, port.value, redact) }
      : redactTexts(port, redact),
  ];
}

/** Redacts a default as an input of that name would be. */
export function redactDefault(variable: WorkflowVariable, redact: Redact): WorkflowVariable {
  const { name, defaultValue } = variable;
  if (defaultValue === undefined) return variable;
  return { ...variable, defaultValue: redactMember(name, defaultValue, redact) };
}

function redactMember(name: string, value: unknown, redact: Redact): unknown {
  return Object.values(redact({ [name]: value }))[0];
}

const SCHEMAS = ["schema", "resumeSchema", "configurableSchema"];

/** Redacts a record whose members, or whose questions' members, may be schemas. */
function withSchemas(written: JsonRecord, redact: Redact): JsonRecord {
  const { questions } = written;
  const schemas = SCHEMAS.filter((name) => isRecord(written[name])).map((name) => {
    return [name, redactTexts(written[name], redact)] as const;
  });
  const asked = Array.isArray(questions)
    ? {
        questions: questions.map((one) => (isRecord(one) ? withSchemas(one, redact) : redact(one))),
      }
    : {};
  return { ...redact(written), ...Object.fromEntries(schemas), ...asked };
}

/** Recursive: the depth was bounded when the file was read. */
function redactTexts(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactTexts(item, redact));
  if (!isRecord(value)) return value;
  const members = Object.entries(value).map(([name, member]) => {
    return [redact(name), redactTexts(member, redact)] as const;
  });
  return Object.fromEntries(members);
}
