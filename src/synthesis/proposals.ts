/**
 * Proposals that are evaluated while nobody waits: 261 at once, and the answer to whoever asks for it
 * later. What was taken on is in the store, and is evaluated after a restart or a reload, too.
 * AGTP-API §10.6, §11
 */
import { uuidv7 } from "../identity/uuid.ts";
import { isRecord } from "../json-value.ts";
import type { Store } from "../store/store.ts";
import { timestamp } from "./contract.ts";
import type { ProposalRequest } from "./proposal-request.ts";

/** What a proposal came to: a status and its body. */
export interface ProposalAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** A proposal that was taken on: it has a request until it has an answer. */
interface KeptProposal {
  readonly proposalId: string;
  readonly agentId: string;
  readonly negotiationId: string;
  /** Milliseconds since the epoch; absent in what an older version stored. */
  readonly submittedAt?: number;
  readonly request?: ProposalRequest;
  readonly answer?: ProposalAnswer;
}

/** What evaluates proposals, as long as its deployment is served. */
export interface ProposalEvaluator {
  evaluate(request: ProposalRequest): Promise<ProposalAnswer>;
  onFault(error: unknown): void;
}

const COLLECTION = "proposals";
/** Of one agent; beyond it the oldest is forgotten. */
const PER_AGENT = 100;
/** What an agent is told to expect. */
const ESTIMATED_SECONDS = 1;
/** And after how long to give up asking. */
const MOST_SECONDS = 60;

export class Proposals {
  readonly #store: Store;
  readonly #proposals = new Map<string, KeptProposal>();
  readonly #byAgent = new Map<string, string[]>();
  readonly #waiting = new Set<string>();
  #evaluator: ProposalEvaluator | undefined;
  /** One after another: a flood of proposals takes turns with everything else. */
  #running: Promise<void> | undefined;

  private constructor(store: Store) {
    this.#store = store;
  }

  /** Opens those of a store; nothing is evaluated before there is something that does. */
  static async open(store: Store): Promise<Proposals> {
    const proposals = new Proposals(store);
    for (const { value } of await store.list(COLLECTION)) {
      const proposal = readProposal(value);
      if (proposal !== undefined) proposals.#remember(proposal);
    }
    return proposals;
  }

  get size(): number {
    return this.#proposals.size;
  }

  /** From now on this evaluates, what is left of others too. */
  evaluateBy(evaluator: ProposalEvaluator): void {
    this.#evaluator = evaluator;
    this.#run();
  }

  /** Takes a proposal on; 261. */
  async submit(request: ProposalRequest): Promise<ProposalAnswer> {
    const { agentId, negotiationId } = request;
    const proposalId = `prop-${uuidv7()}`;
    const proposal = { proposalId, agentId, negotiationId, submittedAt: Date.now(), request };
    const forgotten = this.#remember(proposal);
    try {
      await this.#store.commit([
        ...forgotten.map((key) => ({ kind: "delete", collection: COLLECTION, key }) as const),
        { kind: "put", collection: COLLECTION, key: proposalId, value: proposal },
      ]);
    } catch (error) {
      // Its agent is told that it was not taken on, and may propose the same again.
      this.#forget(proposal);
      throw error;
    }
    this.#run();
    return pendingAnswer(proposal);
  }

  /** What became of an agent's own proposal; undefined when it has none of that id. */
  find(proposalId: string, agentId: string): ProposalAnswer | undefined {
    const proposal = this.#proposals.get(proposalId);
    if (proposal?.agentId !== agentId) return undefined;
    return proposal.answer ?? pendingAnswer(proposal);
  }

  #run(): void {
    if (this.#evaluator === undefined || this.#waiting.size === 0) return;
    this.#running ??= this.#evaluateAll().finally(() => {
      this.#running = undefined;
      // What came in after the last one and before this.
      this.#run();
    });
  }

  async #evaluateAll(): Promise<void> {
    for (const proposalId of this.#waiting) {
      const evaluator = this.#evaluator;
      if (evaluator === undefined) return;
      await new Promise((resolve) => setImmediate(resolve));
      this.#waiting.delete(proposalId);
      await this.#evaluate(proposalId, evaluator).catch((error) => evaluator.onFault(error));
    }
  }

  async #evaluate(proposalId: string, evaluator: ProposalEvaluator): Promise<void> {
    const proposal = this.#proposals.get(proposalId);
    if (proposal?.request === undefined) return;
    const { agentId, negotiationId, request } = proposal;
    const answer = await evaluator.evaluate(request);
    if (!this.#proposals.has(proposalId)) return;
    const answered: KeptProposal = { proposalId, agentId, negotiationId, answer };
    const change = { kind: "put", collection: COLLECTION, key: proposalId } as const;
    await this.#store.commit([{ ...change, value: answered }]);
    if (this.#proposals.has(proposalId)) this.#proposals.set(proposalId, answered);
  }

  #forget({ proposalId, agentId }: KeptProposal): void {
    this.#proposals.delete(proposalId);
    this.#waiting.delete(proposalId);
    const own = this.#byAgent.get(agentId)?.filter((id) => id !== proposalId) ?? [];
    if (own.length === 0) this.#byAgent.delete(agentId);
    else this.#byAgent.set(agentId, own);
  }

  /** Answers the ids that had to make room. */
  #remember(proposal: KeptProposal): readonly string[] {
    const { proposalId, agentId } = proposal;
    this.#proposals.set(proposalId, proposal);
    if (proposal.request !== undefined) this.#waiting.add(proposalId);
    const own = this.#byAgent.get(agentId) ?? [];
    own.push(proposalId);
    this.#byAgent.set(agentId, own);
    const forgotten = own.splice(0, Math.max(0, own.length - PER_AGENT));
    for (const id of forgotten) {
      this.#proposals.delete(id);
      this.#waiting.delete(id);
    }
    return forgotten;
  }
}

/** 261, with the members that any draft has for it. */
function pendingAnswer({ proposalId, negotiationId, submittedAt }: KeptProposal): ProposalAnswer {
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

/** What was stored here; anything else is no proposal. */
function readProposal(value: unknown): KeptProposal | undefined {
  if (!isRecord(value)) return undefined;
  const { proposalId, agentId, negotiationId, request, answer } = value;
  const isWhole =
    typeof proposalId === "string" &&
    typeof agentId === "string" &&
    typeof negotiationId === "string" &&
    (isRecord(request) || isRecord(answer));
  return isWhole ? (value as unknown as KeptProposal) : undefined;
}
