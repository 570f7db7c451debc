/** Drafts, and a journal that a test can break. */

import type { Journal, JournalRecord } from "../../src/state/journal/journal.ts";
import { RecordDraft, type Sealer } from "../../src/state/records/record.ts";
import { createRecordSigner, createSealer } from "../../src/state/records/sealer.ts";

const SEALER = createSealer(createRecordSigner());

/** What a test chooses of a draft. */
interface DraftOptions {
  readonly sealer?: Sealer;
  readonly at?: number;
  readonly eventType?: string;
}

/** No two drafts are the same. */
let drafted = 0;

/** A draft of some agent's next record; without an agent, of a record that is in no chain. */
export function makeDraft(
  agentId: string | undefined,
  { sealer = SEALER, at = Date.now(), eventType }: DraftOptions = {},
): RecordDraft {
  const issuedAt = new Date(at).toISOString();
  drafted += 1;
  const before = `{"agent_id":"${agentId ?? ""}","request_id":"${drafted}","previous_audit_id":"`;
  const event = eventType === undefined ? "" : `,"event_type":"${eventType}"`;
  const after = `","issued_at":"${issuedAt}","method":"QUERY"${event}}`;
  const chain =
    agentId === undefined
      ? undefined
      : {
          agentId,
          at,
          method: "QUERY",
          ...(eventType !== undefined && { isEvent: true as const }),
        };
  return new RecordDraft({ before, after }, sealer, chain);
}

/** A journal in memory: every write as one batch; while it is broken, none is taken. */
export class BreakableJournal implements Journal {
  readonly batches: (readonly JournalRecord[])[] = [];
  fault: Error | undefined;
  isClosed = false;

  get records(): readonly JournalRecord[] {
    return this.batches.flat();
  }

  write(records: readonly JournalRecord[]): undefined {
    if (this.fault !== undefined) throw this.fault;
    this.batches.push(records.map(({ auditId, jws }) => ({ auditId, jws })));
  }

  probe(): void {
    if (this.fault !== undefined) throw this.fault;
  }

  find(auditId: string): Promise<string | undefined> {
    return Promise.resolve(this.records.find((record) => record.auditId === auditId)?.jws);
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}
