/**
 * The chain heads of the last cut, for a store that knows less because it was lost or is an older copy: the records
 * to rebuild them from are no longer in the journal.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import { hash } from "node:crypto";
import type { KnownChains } from "../records/known-chains.ts";
import type { ChainHead } from "../records/record-store.ts";
import { readLastCut } from "./cut-file.ts";
import { readCutHeads } from "./cut-heads.ts";
import type { JournalCut } from "./cut-record.ts";
import type { JournalRecord, RecordPlace } from "./journal.ts";
import { segmentsIn } from "./segment.ts";

/** The known chains, including those of the cut. */
interface CutChains {
  readonly known: KnownChains;
  /** The events that led to agents' statuses; empty if the store has them. */
  readonly events: readonly JournalRecord[];
  /** The agents whose heads the store lacked. */
  readonly added: readonly string[];
}

/** Adds the heads of the last cut to a store's knowledge, unless the store is ahead of the cut. */
export async function withCut(directory: string, known: KnownChains): Promise<CutChains> {
  const cut = await readLastCut(directory);
  const start = { segment: (cut?.through ?? 0) + 1, offset: 0 };
  const isBehind = (known.checkpoint?.segment ?? 0) < start.segment;
  if (cut === undefined || !isBehind) return { known, events: [], added: [] };
  // Heads after the cut may be newer in the store; the replay covers those anyway.
  const place = placeBehind(directory, cut);
  const heads = new Map(known.heads);
  const added: string[] = [];
  const events: { readonly at: number; readonly record: JournalRecord }[] = [];
  for await (const head of readCutHeads(directory, cut.heads)) {
    const { agentId, auditId, at, method, statusEvent } = head;
    if (isCut(heads.get(agentId), cut.through)) {
      heads.set(agentId, { auditId, at, method, place });
      added.push(agentId);
    }
    if (statusEvent === undefined) continue;
    events.push({ at, record: { auditId: hash("sha256", statusEvent), jws: statusEvent } });
  }
  events.sort((left, right) => left.at - right.at);
  const records = events.map(({ record }) => record);
  return { known: { checkpoint: start, heads }, events: records, added };
}

/** Returns a place for records removed by a cut; undefined while some remain, which are then searched for. */
export function placeBehind(directory: string, { through }: JournalCut): RecordPlace | undefined {
  const isGone = (segmentsIn(directory)[0] ?? through + 1) > through;
  return isGone ? { segment: through, offset: 0, length: 0 } : undefined;
}

function isCut(head: ChainHead | undefined, through: number): boolean {
  return head?.place === undefined || head.place.segment <= through;
}
