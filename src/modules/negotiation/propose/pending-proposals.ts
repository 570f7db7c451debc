/**
 * Proposals that are evaluated asynchronously: 261 at once, and the answer on a later query. Pending ones are stored,
 * and so are also evaluated after a restart or a reload.   AGTP-API §10.6, §11
 */

import { notFound } from "../../../dispatch/refusals/refusal.ts";
import { ENDPOINT_JSON } from "../../../dispatch/reply.ts";
import type { ProtocolEndpoint } from "../../../dispatch/routes/protocol-endpoint.ts";
import type { RouteHandler } from "../../../dispatch/routes/route.ts";
import { timestamp } from "../../../endpoint/contract.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { RunKind } from "../../../runs/run-kind.ts";
import { openRegister, type RunRegister } from "../../../runs/run-register.ts";
import type { RunExecutor } from "../../../runs/run-schedule.ts";
import { type Holders, SOLE_HOLDER } from "../../../state/holders.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
import type { Store } from "../../../state/store.ts";
import { isStatus } from "../../../wire/message.ts";
import type { SubmittedProposal } from "./read-proposal.ts";

/** The answer to a proposal: a status and a body. */
export interface ProposalAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** An answer with its negotiation. */
interface NegotiatedAnswer extends ProposalAnswer {
  readonly negotiationId: string;
}

/** An accepted proposal, with its request until it has an answer. */
interface PendingProposal {
  readonly proposalId: string;
  readonly agentId: string;
  readonly negotiationId: string;
  /** Milliseconds since the epoch; absent in entries of older versions. */
  readonly submittedAt?: number;
  readonly request?: SubmittedProposal;
  readonly answer?: ProposalAnswer;
  /** The process that evaluates it, if there are several. */
  readonly heldBy?: string;
}

/** The evaluator of the deployment now served. */
interface ProposalEvaluator {
  /** @throws if it must be evaluated later */
  evaluate(request: SubmittedProposal, proposalId: string): Promise<ProposalAnswer>;
  onFault(error: unknown): void;
}

/** The maximum number of proposals per agent; the oldest is dropped. */
const PER_AGENT = 100;
/** The estimated duration that agents are told. */
const ESTIMATED_SECONDS = 1;
/** The maximum duration that agents are told. */
const MOST_SECONDS = 60;

const KIND: RunKind<PendingProposal, "pending" | "answered"> = {
  name: "proposals",
  read: readPending,
  statuses: {
    // The oldest is dropped first, answered or not.
    pending: { phase: "active", next: ["answered"], rank: 0 },
    answered: { phase: "over", next: [], rank: 0 },
  },
  statusOf: ({ request }) => (request === undefined ? "answered" : "pending"),
  idOf: ({ proposalId }) => proposalId,
  ownerOf: ({ agentId }) => agentId,
  quota: { perOwner: PER_AGENT },
};

export class PendingProposals implements RunExecutor {
  /** Sequential, so that many proposals share the process fairly with other work. */
  readonly concurrent = 1;
  readonly #register: RunRegister<PendingProposal>;
  /** Answers not stored yet, by proposal: a store failure must not cause a second evaluation. */
  readonly #answers = new Map<string, ProposalAnswer>();
  #evaluator: ProposalEvaluator | undefined;
  #stop: () => void = () => undefined;

  private constructor(register: RunRegister<PendingProposal>) {
    this.#register = register;
  }

  /** Opens the stored proposals; `evaluateBy` starts evaluating them. */
  static async open(store: Store, holders: Holders = SOLE_HOLDER): Promise<PendingProposals> {
    return new PendingProposals(await openRegister(store, KIND, { holders }));
  }

  get size(): number {
    return this.#register.list().length;
  }

  /** Evaluates pending proposals, including those that other nodes lose. */
  evaluateBy(evaluator: ProposalEvaluator): void {
    const register = this.#register;
    this.#evaluator = evaluator;
    this.#stop();
    this.#stop = register.executeBy(this, (left) => {
      for (const one of left) if (register.isUnattended(one)) register.enqueue(one);
    });
  }

  /** Accepts a proposal and answers 261. */
  async submit(request: SubmittedProposal): Promise<ProposalAnswer> {
    const { agentId, negotiationId } = request;
    const proposalId = `prop-${uuidv7()}`;
    const proposal = { proposalId, agentId, negotiationId, submittedAt: Date.now(), request };
    await this.#register.add({ run: proposal });
    this.#register.enqueue(proposal);
    return pendingAnswer(proposal);
  }

  /** Finds the answer to an agent's own proposal; undefined if it has no such proposal. */
  find(proposalId: string, agentId: string): NegotiatedAnswer | undefined {
    const proposal = this.#register.find(proposalId);
    if (proposal?.agentId !== agentId) return undefined;
    const { answer = pendingAnswer(proposal), negotiationId } = proposal;
    return { ...answer, negotiationId };
  }

  async execute(proposalId: string): Promise<void> {
    const evaluator = this.#evaluator;
    await new Promise((resolve) => setImmediate(resolve));
    const isOurs = await this.#register.claim(proposalId);
    const proposal = isOurs ? this.#register.find(proposalId) : undefined;
    if (evaluator === undefined || proposal?.request === undefined) return;
    const { agentId, negotiationId, request } = proposal;
    const answer = this.#answers.get(proposalId) ?? (await evaluator.evaluate(request, proposalId));
    this.#answers.set(proposalId, answer);
    const run = { proposalId, agentId, negotiationId, answer };
    await this.#register.advance(proposalId, () => ({ run }), { isHolders: true });
  }

  reportFault(error: unknown): void {
    this.#evaluator?.onFault(error);
  }

  forget(proposalId: string): void {
    this.#answers.delete(proposalId);
  }
}

/** 261 with the members of all drafts. */
function pendingAnswer({
  proposalId,
  negotiationId,
  submittedAt,
}: PendingProposal): ProposalAnswer {
  const path = `/proposals/${proposalId}`;
  return {
    status: 261,
    body: {
      status: 261,
      state: "pending",
      explanation: `the proposal is being evaluated: ask QUERY ${path} for what it came to`,
      proposal_id: proposalId,
      estimated_duration: `PT${ESTIMATED_SECONDS}S`,
      estimated_duration_seconds: ESTIMATED_SECONDS,
      max_evaluation_duration: `PT${MOST_SECONDS}S`,
      ...(submittedAt === undefined ? {} : { evaluation_started_at: timestamp(submittedAt) }),
      poll: { method: "QUERY", path },
      polling_path: path,
      negotiation_id: negotiationId,
    },
  };
}

const readWhole = recordReader<PendingProposal>({
  proposalId: "string",
  agentId: "string",
  negotiationId: "string",
});

function readPending(value: unknown): PendingProposal | undefined {
  const proposal = readWhole(value);
  return proposal?.request === undefined && proposal?.answer === undefined ? undefined : proposal;
}

/** The endpoint with the id in the path, and the one with it in the body. */
export function proposalEndpoints(proposals: PendingProposals): readonly ProtocolEndpoint[] {
  return ["/proposals/{proposal_id}", "/proposals"].map((path) => ({
    method: "QUERY",
    path,
    description: "Returns what became of a proposal, to the agent that made it.",
    capability: "retrieval",
    impact: "informational",
    inputSchema: {
      type: "object",
      required: ["proposal_id"],
      properties: { proposal_id: { type: "string", minLength: 1, maxLength: 128 } },
    },
    isListed: false,
    looksUp: ["proposal_id"],
    handler: pollHandler(proposals),
  }));
}

function pollHandler(proposals: PendingProposals): RouteHandler {
  return ({ input, agentId }) => {
    const answer = proposals.find(String(input["proposal_id"]), agentId ?? "");
    if (answer === undefined) {
      return notFound("proposal-not-found", "this agent has no proposal with this id");
    }
    const { status, body, negotiationId } = answer;
    if (!isStatus(status)) throw new Error(`a proposal came to status ${status}`);
    const type = status === 263 ? { "Content-Type": ENDPOINT_JSON } : {};
    return { status, body, headers: { ...type, "Negotiation-ID": negotiationId } };
  };
}
