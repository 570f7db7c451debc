/**
 * Takes secrets out of all that runs keep and show. A JSON Schema among it names members and has none:
 * `password` is no credential there, and only the texts of the schema are looked at.   OpenWOP SR-1
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { PortValue, WorkflowDefinition, WorkflowVariable } from "../workflows/workflow.ts";
import type { EventDraft } from "./run.ts";

/** Takes what looks like a secret out of a value, before it is kept. */
export type Redact = <Value>(value: Value) => Value;

/** The payload of an event, as it is kept. */
export function redactPayload(
  { type, payload }: Pick<EventDraft, "type" | "payload">,
  redact: Redact,
): JsonRecord {
  if (type !== "node.suspended" && type !== "interrupt.requested") return redact(payload);
  const { data } = payload;
  const shown = withSchemas(payload, redact);
  return isRecord(data) ? { ...shown, data: withSchemas(data, redact) } : shown;
}

/** A definition, as it is shown. */
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

/** Under the name of an input stands where its value comes from; the name is about the value. */
function redactPort(redact: Redact): (input: readonly [string, PortValue]) => [string, unknown] {
  return ([name, port]) => [
    redact(name),
    port.type === "static"
      ? { ...port, value: redactMember(name, port.value, redact) }
      : redactTexts(port, redact),
  ];
}

/** A default is an input that nobody gave: it is shown by the variable's name, as one that was given is. */
export function redactDefault(variable: WorkflowVariable, redact: Redact): WorkflowVariable {
  const { name, defaultValue } = variable;
  if (defaultValue === undefined) return variable;
  return { ...variable, defaultValue: redactMember(name, defaultValue, redact) };
}

function redactMember(name: string, value: unknown, redact: Redact): unknown {
  return Object.values(redact({ [name]: value }))[0];
}

const SCHEMAS = ["schema", "resumeSchema", "configurableSchema"];

/** A record with members that are schemas, and perhaps with questions that have one each. */
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

/** Its depth was bounded when its file was read. */
function redactTexts(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactTexts(item, redact));
  if (!isRecord(value)) return value;
  const members = Object.entries(value).map(([name, member]) => {
    return [redact(name), redactTexts(member, redact)] as const;
  });
  return Object.fromEntries(members);
}
