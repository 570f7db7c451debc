/**
 * Where chains stood at the last cut, for a store that knows less: one that was lost, or an older copy.
 * The records that it would have been made from are not in the journal any more.
 * AGTP-IDENTIFIERS "Attribution Chain"
 */
import { hash } from "node:crypto";
import type { KnownChains } from "../records/known-chains.ts";
import type { ChainHead } from "../records/record-store.ts";
import { readLastCut } from "./cut-file.ts";
import { readCutHeads } from "./cut-heads.ts";
import type { JournalCut } from "./cut-record.ts";
import type { JournalRecord, RecordPlace } from "./journal.ts";
import { segmentsIn } from "./segment.ts";

/** The chains as they are known with the cut. */
interface CutChains {
  readonly known: KnownChains;
  /** The events that say where agents stood; empty where the store has taken them in. */
  readonly events: readonly JournalRecord[];
  /** The agents whose heads the store does not know. */
  readonly added: readonly string[];
}

/** Adds to what a store knows; nothing where it has seen more than the cut. */
export async function withCut(directory: string, known: KnownChains): Promise<CutChains> {
  const cut = await readLastCut(directory);
  const start = { segment: (cut?.through ?? 0) + 1, offset: 0 };
  const isBehind = (known.checkpoint?.segment ?? 0) < start.segment;
  if (cut === undefined || !isBehind) return { known, events: [], added: [] };
  // Behind the cut the store may know better; the replay comes by there in any case.
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

/** The place of what went with a cut; undefined where some is there still, and is looked for. */
export function placeBehind(directory: string, { through }: JournalCut): RecordPlace | undefined {
  const isGone = (segmentsIn(directory)[0] ?? through + 1) > through;
  return isGone ? { segment: through, offset: 0, length: 0 } : undefined;
}

function isCut(head: ChainHead | undefined, through: number): boolean {
  return head?.place === undefined || head.place.segment <= through;
}
