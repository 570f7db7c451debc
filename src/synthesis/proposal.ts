/**
 * Reads what an agent proposes, in every form that a draft has for it: wrapped in `endpoint` or
 * `proposal`, the endpoint's own members beside a `name`, the core table's `proposed_method`, and the
 * reference's name that is a method. Nothing is judged here but the form.   AGTP-API §10.4
 */
import { isMethodName } from "../catalog/catalog.ts";
import { isRecord, type JsonRecord } from "../json-value.ts";
import { readDuration } from "./duration.ts";

/** A proposal, its parts not yet judged. */
export interface RawProposal {
  readonly method: string;
  readonly path: string;
  readonly description: string | undefined;
  /** Undefined where the form has none; an object, else a fault of its own. */
  readonly semantic: unknown;
  readonly inputSchema: unknown;
  readonly outputSchema: unknown;
  readonly requiredScopes: readonly string[];
  readonly isPersistent: boolean;
  /** Seconds; undefined when none was asked for. */
  readonly requestedSeconds: number | undefined;
}

/** Why a body is no proposal. */
export interface ProposalFault {
  readonly reason: "ambiguous-body" | "missing-required-field" | "invalid-field";
  readonly message: string;
  readonly field: string;
}

export type ProposalReading =
  | { readonly kind: "proposal"; readonly proposal: RawProposal }
  | ({ readonly kind: "fault" } & ProposalFault);

const TYPES: readonly string[] = ["string", "integer", "number", "boolean", "object", "array"];

/** Reads the parameters of PROPOSE. */
export function readProposal(parameters: JsonRecord): ProposalReading {
  const { endpoint, proposal, name } = parameters;
  if (endpoint !== undefined && name !== undefined) {
    return fault("ambiguous-body", "endpoint and name must not stand together", "endpoint");
  }
  const wrapped = endpoint ?? proposal;
  if (wrapped === undefined) return readFlat(parameters);
  if (!isRecord(wrapped)) {
    const field = endpoint === undefined ? "proposal" : "endpoint";
    return fault("invalid-field", `${field} must be an object`, field);
  }
  return complete(wrapped, parameters);
}

/** The forms without a wrapper differ in where the method stands. */
function readFlat(parameters: JsonRecord): ProposalReading {
  const { name, proposed_method: proposed, parameters: types } = parameters;
  // A body that names its own method says PROPOSE, and nobody proposes that.
  const method = parameters["method"] === "PROPOSE" ? undefined : parameters["method"];
  const isNamed = method === undefined && typeof name === "string" && isMethodName(name);
  const source: Record<string, unknown> = {
    path: "/",
    ...parameters,
    method: method ?? (isNamed ? name : proposed),
  };
  if (source["description"] === undefined && typeof parameters["intent"] === "string") {
    source["description"] = parameters["intent"];
  }
  // Forms that never had a semantic block say no more than what they are for.
  if (parameters["semantic"] === undefined && method === undefined) {
    source["semantic"] = defaultSemantic(parameters);
  }
  const signature = parameters["signature"];
  const declared = isRecord(types) ? types : isRecord(signature) ? signature : undefined;
  if (declared !== undefined && source["input_schema"] === undefined) {
    Object.assign(source, schemasOf(declared));
  }
  return complete(source, parameters);
}

function complete(endpoint: JsonRecord, parameters: JsonRecord): ProposalReading {
  const { method, path, description } = endpoint;
  if (typeof method !== "string" || method === "") {
    return fault("missing-required-field", "the proposal names no method", "method");
  }
  if (typeof path !== "string" || path === "") {
    return fault("missing-required-field", "the proposal names no path", "path");
  }
  const scopes = endpoint["required_scopes"] ?? [];
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === "string")) {
    return fault("invalid-field", "required_scopes must be a list of scopes", "required_scopes");
  }
  const persistent = parameters["persistent"] ?? false;
  if (typeof persistent !== "boolean") {
    return fault("invalid-field", "persistent must be true or false", "persistent");
  }
  const requested = parameters["requested_duration"] ?? undefined;
  const requestedSeconds = requested === undefined ? undefined : readDuration(requested);
  if (requested !== undefined && requestedSeconds === undefined) {
    const message = 'requested_duration must be seconds, or a duration like "24h" or "P7D"';
    return fault("invalid-field", message, "requested_duration");
  }
  return {
    kind: "proposal",
    proposal: {
      method,
      path,
      description: typeof description === "string" ? description : undefined,
      semantic: endpoint["semantic"],
      inputSchema: endpoint["input_schema"] ?? { type: "object", properties: {} },
      outputSchema: endpoint["output_schema"] ?? {},
      requiredScopes: scopes,
      isPersistent: persistent,
      requestedSeconds,
    },
  };
}

function defaultSemantic({ intent, description }: JsonRecord): JsonRecord {
  const text = [intent, description].find((one) => typeof one === "string" && one !== "");
  const said = text ?? "What the proposing agent asks for.";
  return {
    intent: said,
    actor: "agent",
    outcome: said,
    capability: "domain_spanning",
    confidence: 0.5,
    impact: "informational",
    is_idempotent: true,
  };
}

/** A signature as schemas, or as a map of names to types. */
function schemasOf(declared: JsonRecord): JsonRecord {
  const { input_schema: input, output_schema: output } = declared;
  if (isRecord(input)) {
    return { input_schema: input, ...(isRecord(output) ? { output_schema: output } : {}) };
  }
  const properties = Object.entries(declared).map(([name, type]) => [name, propertyOf(type)]);
  return { input_schema: { type: "object", properties: Object.fromEntries(properties) } };
}

function propertyOf(type: unknown): JsonRecord {
  if (isRecord(type)) return type;
  return typeof type === "string" && TYPES.includes(type) ? { type } : {};
}

function fault(reason: ProposalFault["reason"], message: string, field: string): ProposalReading {
  return { kind: "fault", reason, message, field };
}
