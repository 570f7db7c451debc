/**
 * The last steps of evaluating a proposal, in the draft's order: 262 the agent's authority · 463
 * what cannot be composed · 463 what the policy refuses. What passes has a plan.   AGTP-API §10.6
 */

import type { TaskOwner, TaskQueue } from "../../../base/task-queue.ts";
import {
  authorizationRequired,
  proposalRejected,
  type Refusal,
} from "../../../dispatch/refusals/refusal.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import type {
  PlanFailure,
  Proposal,
  ScopeCheck,
  SynthesisPlan,
  Synthesizer,
} from "../../../endpoint/synthesis-plan.ts";
import type { LateSynthesis } from "../late-synthesis.ts";
import { type ProposalRules, refuseUnknownMethod } from "./check-proposal.ts";
import type { CheckedProposal } from "./submitted-proposal.ts";

/** The parts that make a plan of a proposal. */
export interface SynthesisParts {
  readonly rules: ProposalRules;
  readonly prepared: LateSynthesis;
  /** Proposals have their turn in it, among all else that takes long. */
  readonly work: TaskQueue;
}

/** The agent that proposes: its authority, and who pays for the work. */
interface Proposer {
  readonly authority: ScopeCheck;
  readonly owner: TaskOwner;
}

/** The plan of a proposal, or why there is none. */
type Synthesized = { readonly kind: "planned"; readonly plan: SynthesisPlan } | Refusal;

/** Synthesizes what was proposed when its owner's turn has come. */
export async function synthesizeInTurn(
  { rules, prepared, work }: SynthesisParts,
  proposal: CheckedProposal,
  { authority, owner }: Proposer,
): Promise<Synthesized> {
  const { synthesizer } = await prepared();
  return work.run(() => synthesize(proposal, authority, { rules, synthesizer }), owner);
}

interface Synthesis {
  readonly rules: ProposalRules;
  readonly synthesizer: Synthesizer;
}

/**
 * Plans the proposal, or refuses it: for the agent's scopes, for what is missing, for the policy.
 */
function synthesize(
  { raw, description, semantic, inputSchema, outputSchema }: CheckedProposal,
  authority: ScopeCheck,
  { rules, synthesizer }: Synthesis,
): Synthesized {
  const { method, path } = raw;
  // The catalog may be another than when the proposal was taken on.
  if (!rules.methodPolicy.isKnown(method)) return refuseUnknownMethod(method, rules);
  const missing = raw.requiredScopes.filter((scope) => !authority.covers(scope));
  if (missing.length > 0) return scopeRequired(missing);
  const proposal = { method, path, description, semantic, inputSchema, outputSchema };
  // A registered pair is planned for, too: the scopes that its plan needs are 262, which comes first.
  const planned = synthesizer.plan(proposal, authority);
  const isFailure = planned.kind === "failure";
  if (isFailure && planned.reason === "scope-required")
    return scopeRequired(planned.missing.scopes);
  const registered = rules.registered(method, path);
  if (registered !== undefined) return alreadyRegistered(registered, proposal);
  if (isFailure) return compositionImpossible(proposal, planned, synthesizer);
  return refuseByPolicy(proposal, rules) ?? { kind: "planned", plan: planned };
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

/** The parts of an endpoint that tell an agent if it will do. */
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
  { methodPolicy, reservation, canonical }: ProposalRules,
): Refusal | undefined {
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
