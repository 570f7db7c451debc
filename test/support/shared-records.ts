/** Records that several ledgers append to, one batch after another, as a database decides. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { NO_AUDIT_ID } from "../../src/state/records/record.ts";
import type {
  Appended,
  ChainedRecord,
  ChainHead,
  RecordBatch,
  RecordStore,
} from "../../src/state/records/record-store.ts";
import { ChainTurns } from "../../src/state/sharing/chain-turns.ts";

/** How a writer's batches get there. */
interface WayIn {
  readonly batches?: number;
  readonly isOrdered?: boolean;
  /** True where it takes turns at chains that others move as well. */
  readonly takesTurns?: boolean;
  /** Resolves when the next batch has arrived; in one turn of the loop without it. */
  arrive?(): Promise<unknown>;
}

export class SharedRecords {
  readonly records: ChainedRecord[] = [];
  readonly heads: Map<string, ChainHead> = new Map();
  /** Batches from now on are lost. */
  fault: Error | undefined;
  /** The next batches are lost, one each. */
  readonly faults: Error[] = [];
  /** How many chains of how many batches had moved. */
  lost: number = 0;
  /** How many batches of one writer were under way at once. */
  mostUnderWay: number = 0;
  readonly #turns = new ChainTurns<RecordStore>();
  /** By writer, who hears of chains that others have lost to it. */
  readonly #hearers = new Map<RecordStore, (agentId: string) => void>();

  recordsOf(agentId: string): readonly ChainedRecord[] {
    return this.records.filter(({ chain }) => chain.agentId === agentId);
  }

  /** One writer's way in: several batches at once, decided in order or in any. */
  open(way: WayIn = {}): RecordStore {
    const { batches = 1, isOrdered = false, takesTurns = false, arrive = () => nextTurn() } = way;
    let decided: Promise<unknown> = Promise.resolve();
    let underWay = 0;
    const store: RecordStore = {
      ...{ isImmediate: false, batches, isOrdered },
      ...(takesTurns && {
        turnAt: async (agentId: string, isLost: boolean) => {
          if (isLost) {
            for (const [other, hear] of this.#hearers) if (other !== store) hear(agentId);
          }
          await nextTurn();
          await this.#turns.begin(agentId, store);
          return this.heads.get(agentId);
        },
        onRaced: (hear: (agentId: string) => void) => void this.#hearers.set(store, hear),
      }),
      append: async (batch) => {
        underWay += 1;
        this.mostUnderWay = Math.max(this.mostUnderWay, underWay);
        const before = decided;
        const decide = async (): Promise<Appended> => {
          await arrive();
          if (isOrdered) await before;
          return this.#append(batch);
        };
        const appended = decide();
        decided = appended.catch(() => undefined);
        return appended.finally(() => {
          this.#turns.end([...batch.expected.keys()], store);
          underWay -= 1;
        });
      },
      probe: () => {
        if (this.fault !== undefined) throw this.fault;
      },
      find: async (id) => this.records.find(({ auditId }) => auditId === id)?.jws,
      headsOf: async () => this.heads,
      close: () => Promise.resolve(),
    };
    return store;
  }

  #append({ records, expected }: RecordBatch): Appended {
    const fault = this.faults.shift() ?? this.fault;
    if (fault !== undefined) throw fault;
    const moved = new Map<string, ChainHead | undefined>();
    for (const [agentId, auditId] of expected) {
      const head = this.heads.get(agentId);
      if ((head?.auditId ?? NO_AUDIT_ID) !== auditId) moved.set(agentId, head);
    }
    this.lost += moved.size;
    for (const record of records) {
      const { agentId, at, method } = record.chain;
      if (moved.has(agentId)) continue;
      this.records.push(record);
      this.heads.set(agentId, { auditId: record.auditId, at, method });
    }
    return { moved };
  }
}
