/**
 * Evaluates a proposal in the draft's order: 459 the method · 460 the path · 400 the semantic block · 400 the schemas ·
 * 262 the agent's authority · 463 impossible composition · 463 refused by policy. A proposal that passes has a plan.
 * AGTP-API §10.6
 */

import { recordIn } from "../../../base/json-value.ts";
import type { TaskOwner } from "../../../base/task-queue.ts";
import { FLOOR_METHODS } from "../../../catalog/catalog.ts";
import { checkTemplate, templateParameters } from "../../../catalog/path-grammar.ts";
import { canonicalPair } from "../../../dispatch/policy/method-policy.ts";
import {
  authorizationRequired,
  badRequest,
  endpointViolation,
  proposalRejected,
  type Refusal,
} from "../../../dispatch/refusals/refusal.ts";
import { methodViolation } from "../../../dispatch/refusals/refuse-method.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import { checkReservation } from "../../../endpoint/method-rule.ts";
import { readProposedSemantic } from "../../../endpoint/semantic-block.ts";
import {
  explainScopes,
  type PlanFailure,
  type Proposal,
  type ScopeCheck,
  type SynthesisPlan,
  type Synthesizer,
} from "../../../endpoint/synthesis-plan.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { NegotiationContext } from "../config.ts";
import type { NegotiationParts } from "../state.ts";
import { type ProposedSchemaFault, readProposedSchema } from "./proposed-schema.ts";
import type { CheckedProposal, ProposalFault, RawProposal } from "./read-proposal.ts";

/** Checks the form of a proposal, which is cheap. */
export function checkProposal(
  raw: RawProposal,
  context: NegotiationContext,
): CheckedProposal | Refusal {
  const { names, methodPolicy } = context;
  const { method, path } = raw;
  if (!methodPolicy.isKnown(method)) {
    return refuseUnknownMethod(method, context);
  }
  if (path === "" && raw.fault !== undefined) return refuseForm(raw.fault);
  const pathFault = checkTemplate(path, names);
  if (pathFault !== undefined) return endpointViolation(pathFault);
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
    raw,
    description: raw.description ?? semantic.intent,
    semantic,
    inputSchema: input.schema.schema,
    outputSchema: output.schema.schema,
  };
}

/** 400: refuses a malformed proposal. */
export function refuseForm({ reason, message, field }: ProposalFault): Refusal {
  const code = reason === "ambiguous-body" ? reason : "invalid-proposal";
  return badRequest(code, message, { reason, issue: reason, field });
}

/** Finds a path parameter that the input schema does not declare, which every endpoint must.   §5.3 */
function findUndeclared(path: string, { properties }: JsonSchema): ProposedSchemaFault | undefined {
  const declared = recordIn(properties);
  const name = templateParameters(path).find((one) => !Object.hasOwn(declared, one));
  if (name === undefined) return undefined;
  return { path: "/properties", message: `has no "${name}", which the path takes a value for` };
}

/** 459: refuses a method that the catalog does not have. */
function refuseUnknownMethod(
  method: string,
  { catalog, methodPolicy }: NegotiationContext,
): Refusal {
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

/** The authority of the proposing agent, and the account to charge. */
interface Proposer {
  readonly authority: ScopeCheck;
  readonly owner: TaskOwner;
}

/** Plans a proposal once its owner has a turn; or refuses it. */
export async function synthesizeInTurn(
  { context, lateSynthesis: prepared }: NegotiationParts,
  proposal: CheckedProposal,
  { authority, owner }: Proposer,
): Promise<SynthesisPlan | Refusal> {
  const { synthesizer } = await prepared();
  const task = (): SynthesisPlan | Refusal => {
    // The catalog may have changed since the proposal was accepted.
    const { method } = proposal.raw;
    if (!context.methodPolicy.isKnown(method)) return refuseUnknownMethod(method, context);
    return synthesize(proposal, authority, synthesizer, context);
  };
  return context.work.run(task, owner);
}

/** Plans the proposal, or refuses it for missing scopes, missing parts or policy. */
function synthesize(
  { raw, description, semantic, inputSchema, outputSchema }: CheckedProposal,
  authority: ScopeCheck,
  synthesizer: Synthesizer,
  context: NegotiationContext,
): SynthesisPlan | Refusal {
  const { method, path } = raw;
  const missing = raw.requiredScopes.filter((scope) => !authority.covers(scope));
  if (missing.length > 0) return scopeRequired(missing);
  const proposal = { method, path, description, semantic, inputSchema, outputSchema };
  // Registered pairs are also planned, as missing scopes (262) take precedence.
  const planned = synthesizer.plan(proposal, authority);
  const isFailure = planned.kind === "failure";
  if (isFailure && planned.reason === "scope-required")
    return scopeRequired(planned.missing.scopes);
  const registered = context.deployment().registry.find(method, path)?.entry.definition;
  if (registered !== undefined) return alreadyRegistered(registered, proposal);
  if (isFailure) return compositionImpossible(proposal, planned, synthesizer);
  return refuseByPolicy(proposal, context) ?? planned;
}

/** 262: the scopes that the steps need and the agent lacks; never empty. */
export function scopeRequired(missing: readonly string[]): Refusal {
  const [scope = ""] = missing;
  return authorizationRequired("scope-required", explainScopes(missing), {
    scope,
    details: { missing_scopes: missing },
  });
}

const SIMILAR = 5;

function compositionImpossible(
  proposal: Proposal,
  { explanation, missing, log }: PlanFailure,
  synthesizer: Synthesizer,
): Refusal {
  const counter = synthesizer.counterProposal(proposal);
  return proposalRejected("composition-impossible", explanation, {
    missing,
    similar: synthesizer.similar(proposal, SIMILAR).map(manifestEntry),
    synthesis_log: log,
    ...(counter === undefined ? {} : { counter_proposal: manifestEntry(counter) }),
  });
}

/** The parts of an endpoint by which an agent can judge it. */
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

function alreadyRegistered(registered: EndpointDefinition, { method, path }: Proposal): Refusal {
  const explanation = `${method} ${path} is registered already: call it`;
  const counter = manifestEntry(registered);
  return proposalRejected("policy-refused", explanation, { counter_proposal: counter });
}

function refuseByPolicy(
  { method, path }: Proposal,
  { methodPolicy }: NegotiationContext,
): Refusal | undefined {
  if (!methodPolicy.isAllowed(method)) {
    return proposalRejected("policy-refused", `this server does not allow ${method}`);
  }
  const answered = canonicalPair(methodPolicy, { method, path });
  if (answered.method !== method || answered.path !== path) {
    const pair = `${answered.method} ${answered.path}`;
    const explanation = `${method} ${path} is answered as ${pair}: propose that`;
    return proposalRejected("policy-refused", explanation, { redirect: answered });
  }
  const reserved = checkReservation(method, path, FLOOR_METHODS);
  return reserved === undefined ? undefined : proposalRejected("policy-refused", reserved);
}
