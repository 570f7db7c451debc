/**
 * Exports a daemon's state as lines during operation: the entries as of one moment, and the records up to it, as if
 * the process had been killed then.
 */

import { createHash } from "node:crypto";
import { SLICE_MS } from "../../base/paced.ts";
import { readCutLines, readLastCut } from "../journal/cut-file.ts";
import { readCutHeads } from "../journal/cut-heads.ts";
import { type JournalCut, readCut } from "../journal/cut-record.ts";
import { isBefore, type JournalPosition, type MemoryJournal } from "../journal/journal.ts";
import { readSegment, segmentNumber, segmentsIn } from "../journal/segment.ts";
import { CHAIN_CHECKPOINTS, readCheckpoint } from "../records/known-chains.ts";
import type { Change, ChangedEntry, Store } from "../store.ts";
import { headerLine, type StateLine, stateLine } from "./state-file.ts";

/** A record, or the point up to which the entries include the records' effects. */
export type RecordLine = Extract<StateLine, { readonly kind: "record" | "checkpoint" }>;

/** A signed cut, or a chain head of the last one. */
type CutLine = Extract<StateLine, { readonly kind: "cut" | "cut-head" }>;

export interface RecordsSource {
  /** Prevents removal until the returned function is called; resolves once that is in effect. */
  hold?(): Promise<() => void>;
  /** Begins the export of the records, after `hold`. */
  begin(): Promise<ExportedRecords>;
}

interface ExportedRecords {
  /** The number of the first segment; lower ones were used before. */
  readonly firstSegment: number;
  /** Yields the signed cuts of the journal, and the chain heads of the last. */
  cuts?(): AsyncIterable<CutLine>;
  /** Fixes the end of the export now; the returned function yields the records up to it, in order. */
  cut(): (checkpoint: JournalPosition | undefined) => AsyncIterable<RecordLine>;
}

interface ExportSource {
  readonly serverId: string;
  readonly store: Store;
  readonly records: RecordsSource;
}

/** Thrown if the state cannot be exported, or not during so much activity. */
export class ExportRefusal extends Error {
  override readonly name = "ExportRefusal";
}

/** The most entries read at once, since each may be megabytes. */
const MOST = 100;

/** Returns the size of the next page, so that reading it takes at most a slice of the event loop. */
function nextLimit(limit: number, tookMs: number): number {
  const fitting = Math.floor((limit * SLICE_MS) / Math.max(tookMs, 0.1));
  return Math.max(1, Math.min(fitting, 4 * limit, MOST));
}

/** Yields the lines of an export. */
export async function* exportState(source: ExportSource): AsyncGenerator<string> {
  const release = await source.records.hold?.();
  try {
    yield* exportLines(linesOf(source));
  } finally {
    release?.();
  }
}

/** Serializes lines, and appends the totals. */
export async function* exportLines(
  lines: AsyncIterable<string | Change | RecordLine>,
): AsyncGenerator<string> {
  const digest = createHash("sha256");
  const count = { entries: 0, records: 0 };
  for await (const one of lines) {
    if (typeof one !== "string" && one.kind !== "checkpoint") {
      count[one.kind === "record" ? "records" : "entries"] += 1;
    }
    const text = typeof one === "string" ? one : stateLine(one);
    digest.update(text);
    yield text;
  }
  yield stateLine({ kind: "end", ...count, sha256: digest.digest("hex") });
}

async function* linesOf({
  serverId,
  store,
  records,
}: ExportSource): AsyncGenerator<string | Change | RecordLine> {
  const exported = await records.begin();
  yield headerLine(serverId, exported.firstSegment);
  for await (const one of exported.cuts?.() ?? []) yield stateLine(one);
  let cut: ReturnType<ExportedRecords["cut"]> | undefined;
  let checkpoint: JournalPosition | undefined;
  const onCut = (): void => {
    cut = exported.cut();
  };
  for await (const one of exportEntries(store, onCut)) {
    if (one.collection !== CHAIN_CHECKPOINTS) yield one;
    else checkpoint = one.kind === "put" ? readCheckpoint(one.value) : undefined;
  }
  yield* cut?.(checkpoint) ?? [];
}

/** Yields the entries page by page, and after each page the changes made meanwhile. */
async function* exportEntries(store: Store, onCut: () => void): AsyncGenerator<Change> {
  if (store.collections === undefined) throw new ExportRefusal("this store cannot be exported");
  let { upTo } = await store.changes(Number.MAX_SAFE_INTEGER);
  for (const collection of await store.collections()) {
    let after: string | undefined = "";
    for (let limit = 1; after !== undefined; ) {
      const began = performance.now();
      const page = await store.list(collection, { limit, ...(after && { after }) });
      const tookMs = performance.now() - began;
      for (const { key, value } of page) yield { kind: "put", collection, key, value };
      after = page.length < limit ? undefined : page.at(-1)?.key;
      limit = nextLimit(limit, tookMs);
      const feed = await store.changes(upTo);
      upTo = feed.upTo;
      yield* changeLines(feed.changed);
    }
  }
  const { changed } = await store.changes(upTo);
  onCut();
  yield* changeLines(changed);
}

function changeLines(changed: readonly ChangedEntry[] | undefined): readonly Change[] {
  if (changed === undefined) throw new ExportRefusal("the store changes faster than it is read");
  return changed.map(({ collection, key, entry }): Change => {
    if (entry === undefined) return { kind: "delete", collection, key };
    return { kind: "put", collection, key, value: entry.value };
  });
}

/** Exports the records of a journal; `endOf` returns its current end, `hold` keeps its segments. */
export function journalSource(
  directory: string,
  endOf: () => JournalPosition | undefined,
  hold?: () => Promise<() => void>,
): RecordsSource {
  return {
    ...(hold && { hold }),
    begin: async () => {
      const [oldest] = segmentsIn(directory);
      const last = await findCut(directory, oldest);
      // The remaining segments of an unfinished cut are skipped, since the cut accounts for them.
      const firstSegment = Math.max(oldest ?? 1, (last?.through ?? 0) + 1);
      return {
        firstSegment,
        cuts: () => cutLines(directory, last),
        cut: () => {
          const end = endOf();
          const start = { segment: firstSegment, offset: 0 };
          return (checkpoint = start) => journalLines(directory, start, checkpoint, end);
        },
      };
    },
  };
}

/** Exports the records of a journal in memory; the entries may include none of their effects. */
export function rememberedRecords(journal: MemoryJournal): RecordsSource {
  return {
    begin: async () => ({
      // The oldest may be forgotten, so the journal does not begin with the first segment.
      firstSegment: 2,
      cut: () => {
        const records = journal.records();
        return async function* () {
          yield { kind: "checkpoint" };
          for (const jws of records) yield { kind: "record", jws };
        };
      },
    }),
  };
}

/** Returns the last cut that has removed a segment. */
async function findCut(
  directory: string,
  oldest: number | undefined,
): Promise<JournalCut | undefined> {
  const last = await readLastCut(directory);
  const first = segmentNumber(last?.segments[0]?.file ?? "") ?? 0;
  if (oldest === undefined || oldest > first) return last;
  for await (const jws of readCutLines(directory)) {
    const cut = readCut(jws);
    if (cut?.cutId === last?.previous) return cut;
  }
  return undefined;
}

/** Yields the cuts up to one, ignoring later ones. */
async function* cutLines(directory: string, last: JournalCut | undefined): AsyncGenerator<CutLine> {
  if (last === undefined) return;
  for await (const jws of readCutLines(directory)) {
    yield { kind: "cut", jws };
    if (jws === last.jws) break;
  }
  for await (const head of readCutHeads(directory, last.heads)) yield { kind: "cut-head", head };
}

async function* journalLines(
  directory: string,
  start: JournalPosition,
  checkpoint: JournalPosition,
  end: JournalPosition = { segment: Number.POSITIVE_INFINITY, offset: 0 },
): AsyncGenerator<RecordLine> {
  let isDue = true;
  for (const segment of segmentsIn(directory)) {
    if (segment < start.segment) continue;
    for await (const { jws, offset } of readSegment(directory, segment)) {
      const here = { segment, offset };
      if (!isBefore(here, end)) break;
      if (isDue && !isBefore(here, checkpoint)) {
        isDue = false;
        yield { kind: "checkpoint" };
      }
      yield { kind: "record", jws };
    }
  }
  if (isDue) yield { kind: "checkpoint" };
}
