/**
 * Proposals that are evaluated while their agents do not wait: 261 at once, and the answer when it
 * is asked for later. What was taken on is in the store, and is evaluated after a restart or a
 * reload, too. AGTP-API §10.6, §11
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

/** The outcome of a proposal: a status and its body. */
export interface ProposalAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** An outcome, and the negotiation that it belongs to. */
interface NegotiatedAnswer extends ProposalAnswer {
  readonly negotiationId: string;
}

/** A proposal that was taken on: it has a request until it has an answer. */
interface PendingProposal {
  readonly proposalId: string;
  readonly agentId: string;
  readonly negotiationId: string;
  /** Milliseconds since the epoch; absent in what an older version stored. */
  readonly submittedAt?: number;
  readonly request?: SubmittedProposal;
  readonly answer?: ProposalAnswer;
  /** The process that evaluates it, where there are several. */
  readonly heldBy?: string;
}

/** The evaluator of proposals, as long as its deployment is served. */
interface ProposalEvaluator {
  /** @throws where it is evaluated later */
  evaluate(request: SubmittedProposal, proposalId: string): Promise<ProposalAnswer>;
  onFault(error: unknown): void;
}

/** The most proposals of one agent; beyond it the oldest is forgotten. */
const PER_AGENT = 100;
/** The time in which an agent is told to expect an answer. */
const ESTIMATED_SECONDS = 1;
/** The time after which an agent is told to give up asking. */
const MOST_SECONDS = 60;

const KIND: RunKind<PendingProposal, "pending" | "answered"> = {
  name: "proposals",
  read: readPending,
  statuses: {
    // The oldest goes first, whether or not it has its answer.
    pending: { phase: "active", next: ["answered"], rank: 0 },
    answered: { phase: "over", next: [], rank: 0 },
  },
  statusOf: ({ request }) => (request === undefined ? "answered" : "pending"),
  idOf: ({ proposalId }) => proposalId,
  ownerOf: ({ agentId }) => agentId,
  quota: { perOwner: PER_AGENT },
};

export class PendingProposals implements RunExecutor {
  /** One after another: a flood of proposals takes turns with everything else. */
  readonly concurrent = 1;
  readonly #register: RunRegister<PendingProposal>;
  /** The answers that are not kept yet, by proposal: none is evaluated twice because of its store. */
  readonly #answers = new Map<string, ProposalAnswer>();
  #evaluator: ProposalEvaluator | undefined;
  #stop: () => void = () => undefined;

  private constructor(register: RunRegister<PendingProposal>) {
    this.#register = register;
  }

  /** Opens the proposals of a store; nothing is evaluated before `evaluateBy`. */
  static async open(store: Store, holders: Holders = SOLE_HOLDER): Promise<PendingProposals> {
    return new PendingProposals(await openRegister(store, KIND, { holders }));
  }

  get size(): number {
    return this.#register.list().length;
  }

  /** Gives pending proposals to an evaluator, those that are left too. */
  evaluateBy(evaluator: ProposalEvaluator): void {
    const register = this.#register;
    this.#evaluator = evaluator;
    this.#stop();
    this.#stop = register.executeBy(this, (left) => {
      for (const one of left) if (register.isUnattended(one)) register.enqueue(one);
    });
  }

  /** Takes a proposal on; 261. */
  async submit(request: SubmittedProposal): Promise<ProposalAnswer> {
    const { agentId, negotiationId } = request;
    const proposalId = `prop-${uuidv7()}`;
    const proposal = { proposalId, agentId, negotiationId, submittedAt: Date.now(), request };
    await this.#register.add({ run: proposal });
    this.#register.enqueue(proposal);
    return pendingAnswer(proposal);
  }

  /** The outcome of an agent's own proposal; undefined when it has none of that id. */
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

/** 261, with the members that any draft has for it. */
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

/** The path form, and the form with the id in the body. */
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
