/**
 * Proposals that are evaluated while nobody waits: 261 at once, and the answer to whoever asks for it
 * later. What was taken on is in the store, and is evaluated after a restart too.
 * AGTP-API §10.6, §11
 */

import type { HandlerSuccess } from "../handlers/handler.ts";
import { uuidv7 } from "../identity/uuid.ts";
import { isRecord } from "../json-value.ts";
import type { Store } from "../store/store.ts";
import type { ProposalRequest } from "./proposal-request.ts";

/** What a proposal came to: a status and its body. */
export interface ProposalAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** A proposal that was taken on. */
export interface PendingProposal {
  readonly proposalId: string;
  readonly request: ProposalRequest;
  /** Milliseconds since the epoch. */
  readonly submittedAt: number;
  /** Undefined while it is being evaluated. */
  readonly answer?: ProposalAnswer;
}

export interface ProposalsOptions {
  readonly store: Store;
  evaluate(request: ProposalRequest): Promise<ProposalAnswer>;
  onFault(error: unknown): void;
}

const COLLECTION = "proposals";
/** Of one agent; beyond it the oldest is forgotten. */
const PER_AGENT = 100;
/** What an agent is told to expect. */
const ESTIMATED_SECONDS = 1;

export class Proposals {
  readonly #options: ProposalsOptions;
  readonly #proposals = new Map<string, PendingProposal>();
  readonly #byAgent = new Map<string, string[]>();
  /** One after another: a flood of proposals takes turns with everything else. */
  #queue: Promise<void> = Promise.resolve();

  constructor(options: ProposalsOptions) {
    this.#options = options;
  }

  /** Takes up what an earlier process left. */
  async resume(): Promise<void> {
    for (const { value } of await this.#options.store.list(COLLECTION)) {
      const proposal = readPending(value);
      if (proposal === undefined) continue;
      this.#remember(proposal);
      if (proposal.answer === undefined) this.#schedule(proposal);
    }
  }

  /** Takes a proposal on; 261. */
  async submit(request: ProposalRequest): Promise<HandlerSuccess> {
    const proposal: PendingProposal = {
      proposalId: `prop-${uuidv7()}`,
      request,
      submittedAt: Date.now(),
    };
    const forgotten = this.#remember(proposal);
    await this.#options.store.commit([
      ...forgotten.map((key) => ({ kind: "delete", collection: COLLECTION, key }) as const),
      { kind: "put", collection: COLLECTION, key: proposal.proposalId, value: proposal },
    ]);
    this.#schedule(proposal);
    return pendingAnswer(proposal);
  }

  /** What became of an agent's own proposal; undefined when it has none of that id. */
  find(proposalId: string, agentId: string): HandlerSuccess | ProposalAnswer | undefined {
    const proposal = this.#proposals.get(proposalId);
    if (proposal?.request.agentId !== agentId) return undefined;
    return proposal.answer ?? pendingAnswer(proposal);
  }

  /** Resolves when everything that was taken on is answered. */
  idle(): Promise<void> {
    return this.#queue;
  }

  #schedule(proposal: PendingProposal): void {
    this.#queue = this.#queue
      .then(() => new Promise((resolve) => setImmediate(resolve)))
      .then(() => this.#evaluate(proposal))
      .catch((error: unknown) => this.#options.onFault(error));
  }

  async #evaluate(proposal: PendingProposal): Promise<void> {
    const { proposalId, request } = proposal;
    if (!this.#proposals.has(proposalId)) return;
    const answer = await this.#options.evaluate(request);
    const answered: PendingProposal = { ...proposal, answer };
    const value = answered;
    const change = { kind: "put", collection: COLLECTION, key: proposalId, value } as const;
    await this.#options.store.commit([change]);
    if (this.#proposals.has(proposalId)) this.#proposals.set(proposalId, answered);
  }

  /** Answers the ids that had to make room. */
  #remember(proposal: PendingProposal): readonly string[] {
    const { proposalId, request } = proposal;
    this.#proposals.set(proposalId, proposal);
    const own = this.#byAgent.get(request.agentId) ?? [];
    own.push(proposalId);
    this.#byAgent.set(request.agentId, own);
    const forgotten = own.splice(0, Math.max(0, own.length - PER_AGENT));
    for (const id of forgotten) this.#proposals.delete(id);
    return forgotten;
  }
}

function pendingAnswer({ proposalId, request }: PendingProposal): HandlerSuccess {
  return {
    status: 261,
    body: {
      status: 261,
      proposal_id: proposalId,
      estimated_duration: `PT${ESTIMATED_SECONDS}S`,
      estimated_duration_seconds: ESTIMATED_SECONDS,
      poll: { method: "QUERY", path: `/proposals/${proposalId}` },
      negotiation_id: request.negotiationId,
    },
  };
}

function readPending(value: unknown): PendingProposal | undefined {
  if (!isRecord(value) || typeof value["proposalId"] !== "string") return undefined;
  return isRecord(value["request"]) ? (value as unknown as PendingProposal) : undefined;
}
