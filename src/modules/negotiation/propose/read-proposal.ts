/**
 * Parses a proposal in each form of the drafts: wrapped in `endpoint` or `proposal`, an endpoint's members next to
 * `name`, the core table's `proposed_method`, and the reference's name that is a method. Only the form is checked here.
 * AGTP-API §10.4
 */

import { readDuration } from "../../../base/duration.ts";
import { isRecord, type JsonRecord, textIn } from "../../../base/json-value.ts";
import { isMethodName } from "../../../catalog/catalog.ts";
import { templateParameters } from "../../../catalog/path-grammar.ts";
import { isProposedText, semanticOf } from "../../../endpoint/semantic-block.ts";
import type { Proposal } from "../../../endpoint/synthesis-plan.ts";
import { isScopeToken } from "../../../identity/authority-scope.ts";

/** A parsed proposal, not yet evaluated. */
export interface RawProposal {
  readonly method: string;
  /** The path; empty if missing, which is the fault then. */
  readonly path: string;
  readonly description: string | undefined;
  /** The semantic block; undefined if missing. */
  readonly semantic: unknown;
  readonly inputSchema: unknown;
  readonly outputSchema: unknown;
  readonly requiredScopes: readonly string[];
  readonly isPersistent: boolean;
  /** The requested duration in seconds, if any. */
  readonly requestedSeconds: number | undefined;
  /** A further fault, reported after method and path have been judged. */
  readonly fault?: ProposalFault;
}

/** The reason that a body is no proposal. */
export interface ProposalFault {
  readonly reason: "ambiguous-body" | "missing-required-field" | "invalid-field";
  readonly message: string;
  readonly field: string;
}

/** Limits of method, path and scopes, since a proposal is stored with its contract. */
const MAX_METHOD = 64;
const MAX_PATH = 2_048;
const MAX_SCOPES = 64;

const TYPES: readonly string[] = ["string", "integer", "number", "boolean", "object", "array"];

/** Reads the parameters of PROPOSE. */
export function readProposal(parameters: JsonRecord): RawProposal | ProposalFault {
  const { endpoint, proposal, name } = parameters;
  if (endpoint !== undefined && name !== undefined) {
    return fault("ambiguous-body", "endpoint", "must not stand together with name");
  }
  const wrapped = endpoint ?? proposal;
  if (wrapped === undefined) return readFlat(parameters);
  if (!isRecord(wrapped)) {
    const field = endpoint === undefined ? "proposal" : "endpoint";
    return fault("invalid-field", field, "must be an object");
  }
  return complete(wrapped, parameters);
}

/** Parses the forms without a wrapper, which differ in the place of the method. */
function readFlat(parameters: JsonRecord): RawProposal | ProposalFault {
  const { name, proposed_method: proposed, parameters: types } = parameters;
  // `method` may repeat the request's own PROPOSE, which cannot be proposed.
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
  // Forms without a semantic block only state an intent.
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

function complete(endpoint: JsonRecord, parameters: JsonRecord): RawProposal | ProposalFault {
  const { method, path, description, required_scopes: scopes = [] } = endpoint;
  if (typeof method !== "string" || method === "") {
    return fault("missing-required-field", "method", "is missing");
  }
  const { persistent, requested_duration: duration } = parameters;
  const found = findFault(endpoint, parameters);
  const written = typeof path === "string" ? path : "";
  return {
    // Methods are shorter: truncating an overlong one does not make it valid.
    method: method.slice(0, MAX_METHOD + 1),
    path: written.length > MAX_PATH ? "" : written,
    description: textIn(description),
    semantic: endpoint["semantic"],
    inputSchema: endpoint["input_schema"] ?? inputOf(written),
    outputSchema: endpoint["output_schema"] ?? {},
    requiredScopes: found === undefined ? (scopes as readonly string[]) : [],
    isPersistent: persistent === true,
    requestedSeconds: readDuration(duration),
    ...(found === undefined ? {} : { fault: found }),
  };
}

/** Finds the first fault, beginning with the path. */
function findFault(endpoint: JsonRecord, parameters: JsonRecord): ProposalFault | undefined {
  const { path, description = "", required_scopes: scopes = [] } = endpoint;
  if (path === undefined) return fault("missing-required-field", "path", "is missing");
  if (typeof path !== "string" || path === "" || path.length > MAX_PATH) {
    return fault("invalid-field", "path", `must be a text of 1 to ${MAX_PATH} characters`);
  }
  if (description !== "" && !isProposedText(description)) {
    const expected = "must be a text of at most 1024 characters, none of them half";
    return fault("invalid-field", "description", expected);
  }
  if (!Array.isArray(scopes) || scopes.length > MAX_SCOPES || !scopes.every(isScope)) {
    const expected = `must be a list of at most ${MAX_SCOPES} scopes`;
    return fault("invalid-field", "required_scopes", expected);
  }
  const { persistent = false, requested_duration: duration } = parameters;
  if (typeof persistent !== "boolean") {
    return fault("invalid-field", "persistent", "must be true or false");
  }
  if (duration === undefined || duration === null || readDuration(duration) !== undefined) {
    return undefined;
  }
  const expected = 'must be seconds, or a duration like "24h" or "P7D"';
  return fault("invalid-field", "requested_duration", expected);
}

function isScope(value: unknown): boolean {
  return typeof value === "string" && isScopeToken(value);
}

/** The default input of a proposal: the parameters of its path. */
function inputOf(path: string): JsonRecord {
  const names = templateParameters(path);
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  return { type: "object", properties, ...(names.length === 0 ? {} : { required: names }) };
}

function defaultSemantic({ intent, description }: JsonRecord): JsonRecord {
  const text = [intent, description].find(
    (one): one is string => typeof one === "string" && one !== "",
  );
  const said = text ?? "What the proposing agent asks for.";
  return { ...semanticOf(said), impact: "informational", is_idempotent: true };
}

/** The schemas of a signature, given as schemas or as types by name. */
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

function fault(reason: ProposalFault["reason"], field: string, expected: string): ProposalFault {
  return { reason, message: `${field} ${expected}`, field };
}

/** A proposal with valid parts. */
export interface CheckedProposal extends Omit<Proposal, "method" | "path"> {
  readonly raw: RawProposal;
}

/** A proposal being evaluated. */
export interface SubmittedProposal {
  readonly agentId: string;
  readonly sessionId: string | undefined;
  readonly negotiationId: string;
  /** The authority at the time of the request. */
  readonly scopes: readonly string[];
  readonly proposal: CheckedProposal;
}
