/**
 * The evaluation of a proposal, strictly in the draft's order: 459 the method · 460 the path · 400 the
 * semantic block · 400 the schemas · 262 the authority · 463 what cannot be composed · 463 what the
 * policy refuses.   AGTP-API §10.6
 */

import { isRecord } from "../../../base/json-value.ts";
import type { Catalog } from "../../../catalog/catalog.ts";
import type { Pair } from "../../../catalog/pair.ts";
import {
  checkTemplate,
  type MethodNames,
  templateParameters,
} from "../../../catalog/path-grammar.ts";
import type { Authority } from "../../../dispatch/caller/caller.ts";
import type { MethodPolicy } from "../../../dispatch/policy/method-policy.ts";
import {
  authorizationRequired,
  badRequest,
  endpointViolation,
  methodViolation,
  proposalRejected,
  type Refusal,
} from "../../../dispatch/refusals/refusal.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import { readProposedSemantic } from "../../../endpoint/proposed-semantic.ts";
import type {
  PlanFailure,
  Proposal,
  SynthesisPlan,
  Synthesizer,
} from "../../../endpoint/synthesis-plan.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { type ProposedSchemaFault, readProposedSchema } from "./proposed-schema.ts";
import type { ProposalFault, RawProposal } from "./read-proposal.ts";
import type { CheckedProposal } from "./submitted-proposal.ts";

/** The rules and endpoints that proposals are evaluated against. */
export interface EvaluationParts {
  readonly catalog: Catalog;
  readonly names: MethodNames;
  readonly methodPolicy: MethodPolicy;
  /** The endpoint that is registered already under a pair. */
  registered(method: string, path: string): EndpointDefinition | undefined;
  /** Why a pair may never be an endpoint: it is the protocol's own. */
  reservation(method: string, path: string): string | undefined;
  /**
   * The pair that aliases and redirects make of another: one that they change is never answered
   * itself.
   */
  canonical(pair: Pair): Pair;
}

/** The same, and who makes plans of the endpoints. */
interface PlanningParts extends EvaluationParts {
  readonly synthesizer: Synthesizer;
}

type Checked = { readonly kind: "checked"; readonly proposal: CheckedProposal } | Refusal;
type Planned = { readonly kind: "planned"; readonly plan: SynthesisPlan } | Refusal;

/** Steps 1 to 4: the form of what is proposed. Cheap, whoever proposes. */
export function checkProposal(raw: RawProposal, parts: EvaluationParts): Checked {
  const { names, methodPolicy } = parts;
  const { method, path } = raw;
  if (!methodPolicy.isKnown(method)) {
    return unknownMethod(method, parts);
  }
  if (path === "" && raw.fault !== undefined) return refuseForm(raw.fault);
  const pathFault = checkTemplate(path, names);
  if (pathFault !== undefined) return endpointViolation(pathFault.segment, pathFault.message);
  if (raw.fault !== undefined) return refuseForm(raw.fault);
  const read = readProposedSemantic(raw.semantic);
  if ("faults" in read) return invalidSemantic(read.faults);
  const input = readProposedSchema(raw.inputSchema, "input_schema");
  if ("fault" in input) return malformedSchema("input_schema", input.fault);
  const undeclared = findUndeclared(path, input.schema.schema);
  if (undeclared !== undefined) return malformedSchema("input_schema", undeclared);
  const output = readProposedSchema(raw.outputSchema, "output_schema");
  if ("fault" in output) return malformedSchema("output_schema", output.fault);
  const { semantic } = read;
  return {
    kind: "checked",
    proposal: {
      raw,
      description: raw.description ?? semantic.intent,
      semantic,
      inputSchema: input.schema.schema,
      outputSchema: output.schema.schema,
    },
  };
}

/** 400: the form of a proposal. */
export function refuseForm({ reason, message, field }: ProposalFault): Refusal {
  const code = reason === "ambiguous-body" ? reason : "invalid-proposal";
  return badRequest(code, message, { reason, issue: reason, field });
}

/** A parameter of a path has to be an input, as it has to with any endpoint.   §5.3 */
function findUndeclared(path: string, { properties }: JsonSchema): ProposedSchemaFault | undefined {
  const declared = isRecord(properties) ? properties : {};
  const name = templateParameters(path).find((one) => !Object.hasOwn(declared, one));
  if (name === undefined) return undefined;
  return { path: "/properties", message: `has no "${name}", which the path takes a value for` };
}

/** Steps 5 to 7: whether this agent may have it, whether it can be had, whether it is wanted. */
export function planProposal(
  proposal: CheckedProposal,
  authority: Pick<Authority, "covers">,
  parts: PlanningParts,
): Planned {
  const { raw, description, semantic, inputSchema, outputSchema } = proposal;
  const { method, path } = raw;
  // The catalog may be another than when the proposal was taken on.
  if (!parts.methodPolicy.isKnown(method)) return unknownMethod(method, parts);
  const missing = raw.requiredScopes.filter((scope) => !authority.covers(scope));
  if (missing.length > 0) return scopeRequired(missing);
  const registered = parts.registered(method, path);
  const proposed = { method, path, description, semantic, inputSchema, outputSchema };
  const outcome = parts.synthesizer.plan(proposed, authority);
  if (outcome.kind === "failure") {
    if (outcome.reason === "scope-required") return scopeRequired(outcome.missing.scopes);
    if (registered === undefined) return impossible(proposed, outcome, parts);
  }
  const refusal = refuseByPolicy(method, path, registered, parts);
  if (refusal !== undefined) return refusal;
  if (outcome.kind === "failure") throw new Error("a pair is registered and not refused");
  return { kind: "planned", plan: outcome };
}

function unknownMethod(method: string, { catalog, methodPolicy }: EvaluationParts): Refusal {
  return methodViolation(method, catalog.version, methodPolicy.closeMatches(method));
}

function invalidSemantic(faults: readonly string[]): Refusal {
  const issue = "invalid-semantic";
  return badRequest("invalid-proposal", faults.join("; "), { reason: issue, issue, faults });
}

function malformedSchema(field: string, { path, message }: ProposedSchemaFault): Refusal {
  const issue = "malformed-schema";
  const text = `${field}${path} ${message}`;
  return badRequest("malformed-schema", text, { reason: issue, issue, field, pointer: path });
}

function scopeRequired(missing: readonly string[]): Refusal {
  const message = `the composed behaviour needs ${missing.join(", ")}, which the agent does not hold`;
  const [scope = ""] = missing;
  return authorizationRequired("scope-required", message, {
    scope,
    details: { missing_scopes: missing },
  });
}

const SIMILAR = 5;

function impossible(
  proposed: Proposal,
  { explanation, missing, log }: PlanFailure,
  { synthesizer }: PlanningParts,
): Refusal {
  const counter = synthesizer.counterProposal(proposed);
  return proposalRejected("composition-impossible", explanation, {
    missing,
    similar: synthesizer.similar(proposed, SIMILAR).map(manifestEntry),
    synthesis_log: log,
    ...(counter === undefined ? {} : { counter_proposal: manifestEntry(counter) }),
  });
}

/** As much of an endpoint as tells an agent whether it will do. */
function manifestEntry(endpoint: EndpointDefinition): Record<string, unknown> {
  const { method, path, description, semantic, inputSchema, outputSchema } = endpoint;
  return {
    method,
    path,
    description,
    semantic,
    input_schema: inputSchema,
    output_schema: outputSchema,
    required_scopes: endpoint.requiredScopes,
  };
}

function refuseByPolicy(
  method: string,
  path: string,
  registered: EndpointDefinition | undefined,
  { methodPolicy, reservation, canonical }: EvaluationParts,
): Refusal | undefined {
  if (registered !== undefined) {
    const explanation = `${method} ${path} is registered already: call it`;
    const counter = manifestEntry(registered);
    return proposalRejected("policy-refused", explanation, { counter_proposal: counter });
  }
  if (!methodPolicy.isAllowed(method)) {
    return proposalRejected("policy-refused", `this server does not allow ${method}`);
  }
  const answered = canonical({ method, path });
  if (answered.method !== method || answered.path !== path) {
    const pair = `${answered.method} ${answered.path}`;
    const explanation = `${method} ${path} is answered as ${pair}: propose that`;
    return proposalRejected("policy-refused", explanation, { redirect: answered });
  }
  const reserved = reservation(method, path);
  return reserved === undefined ? undefined : proposalRejected("policy-refused", reserved);
}
