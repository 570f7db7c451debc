/**
 * The threads that callers keep with agents: each belongs to the Agent-ID that created it, under an
 * id of this server's making. The oldest of a caller makes room for another.
 * Agent Connect Protocol "Thread"
 */
import { isRecord } from "../../../json-value.ts";
import type { Change, Store } from "../../../store/store.ts";
import { TaskQueue } from "../../../task-queue.ts";

/** One thread. */
export interface AgentThread {
  readonly threadId: string;
  readonly base: string;
  readonly owner: string;
  readonly upstreamThreadId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** How many there may be. */
export interface ThreadLimits {
  readonly perOwner: number;
  readonly all: number;
}

const COLLECTION = "agntcy-threads";
const LIMITS: ThreadLimits = { perOwner: 256, all: 8192 };

export class ThreadRegister {
  readonly #store: Store;
  readonly #limits: ThreadLimits;
  readonly #threads = new Map<string, AgentThread>();
  readonly #changes = new TaskQueue();

  private constructor(store: Store, limits: ThreadLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  /** Opens what an earlier process kept. */
  static async open(store: Store, limits: ThreadLimits = LIMITS): Promise<ThreadRegister> {
    const register = new ThreadRegister(store, limits);
    const threads = (await store.list(COLLECTION)).flatMap(({ value }) =>
      isThread(value) ? [value] : [],
    );
    threads.sort((left, right) => left.createdAt - right.createdAt);
    for (const thread of threads) register.#threads.set(thread.threadId, thread);
    return register;
  }

  find(threadId: string): AgentThread | undefined {
    return this.#threads.get(threadId);
  }

  /** Takes one on. False: there are too many of others. */
  create(thread: AgentThread): Promise<boolean> {
    return this.#changes.run(async () => {
      const own = [...this.#threads.values()].filter(({ owner }) => owner === thread.owner);
      const surplus = own.slice(0, Math.max(0, own.length + 1 - this.#limits.perOwner));
      if (this.#threads.size - surplus.length >= this.#limits.all) return false;
      await this.#store.commit([...surplus.map(deletion), put(thread)]);
      for (const { threadId } of surplus) this.#threads.delete(threadId);
      this.#threads.set(thread.threadId, thread);
      return true;
    });
  }
}

function put(thread: AgentThread): Change {
  return { kind: "put", collection: COLLECTION, key: thread.threadId, value: thread };
}

function deletion({ threadId }: AgentThread): Change {
  return { kind: "delete", collection: COLLECTION, key: threadId };
}

function isThread(value: unknown): value is AgentThread {
  if (!isRecord(value) || typeof value["createdAt"] !== "number") return false;
  const texts = ["threadId", "base", "owner", "upstreamThreadId"];
  return texts.every((name) => typeof value[name] === "string");
}
