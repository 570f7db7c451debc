/**
 * The threads that callers keep with agents: each belongs to the Agent-ID that created it, under an
 * id of this server's making. The oldest of a caller makes room for another.
 * Agent Connect Protocol "Thread"
 */
import { Collection } from "../../../state/collection.ts";
import type { Quota } from "../../../state/quota.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
import type { Store } from "../../../state/store.ts";

/** One thread. */
export interface AgentThread {
  readonly threadId: string;
  readonly base: string;
  readonly owner: string;
  readonly upstreamThreadId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

const LIMITS: Quota = { perOwner: 256, all: 8192, sparesOthers: true };

export class ThreadRegister {
  readonly #threads: Collection<AgentThread>;

  private constructor(threads: Collection<AgentThread>) {
    this.#threads = threads;
  }

  /** Opens what an earlier process kept. */
  static async open(store: Store, limits: Quota = {}): Promise<ThreadRegister> {
    const threads = await Collection.open(store, {
      name: "agntcy-threads",
      read: readThread,
      ownerOf: ({ owner }) => owner,
      orderOf: ({ createdAt }) => createdAt,
      quota: { ...LIMITS, ...limits },
    });
    return new ThreadRegister(threads);
  }

  find(threadId: string): AgentThread | undefined {
    return this.#threads.get(threadId);
  }

  /** Takes one on. False: there are too many of others. */
  async create(thread: AgentThread): Promise<boolean> {
    const { kind } = await this.#threads.add(thread.threadId, thread);
    return kind === "added";
  }
}

const readThread = recordReader<AgentThread>({
  threadId: "string",
  base: "string",
  owner: "string",
  upstreamThreadId: "string",
  createdAt: "number",
});
