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

export class SharedRecords {
  readonly records: ChainedRecord[] = [];
  readonly heads: Map<string, ChainHead> = new Map();
  /** Batches from now on are lost. */
  fault: Error | undefined;
  /** How many chains of how many batches had moved. */
  lost: number = 0;

  recordsOf(agentId: string): readonly ChainedRecord[] {
    return this.records.filter(({ chain }) => chain.agentId === agentId);
  }

  /** One writer's way in. */
  open(): RecordStore {
    return {
      isImmediate: false,
      append: async (batch) => {
        await nextTurn();
        return this.#append(batch);
      },
      probe: () => {
        if (this.fault !== undefined) throw this.fault;
      },
      find: async (id) => this.records.find(({ auditId }) => auditId === id)?.jws,
      headOf: async (agentId) => this.heads.get(agentId),
      close: () => Promise.resolve(),
    };
  }

  #append({ records, expected }: RecordBatch): Appended {
    if (this.fault !== undefined) throw this.fault;
    const moved = new Map<string, ChainHead>();
    for (const [agentId, auditId] of expected) {
      const head = this.heads.get(agentId);
      if (head !== undefined && head.auditId !== auditId) moved.set(agentId, head);
      else if (head === undefined && auditId !== NO_AUDIT_ID) throw new Error("a head is gone");
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
