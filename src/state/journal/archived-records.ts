/**
 * Finds out where records went that were cut off the journal: in the indexes of archived segments, the
 * newest first, and among the records that chains ended with at the last cut.
 * AGTP-IDENTIFIERS "Audit Log"
 */
import type { CutHead } from "./cut-heads.ts";
import type { JournalCut } from "./cut-record.ts";
import { segmentName, segmentsIn } from "./segment.ts";
import { findInIndex } from "./segment-index.ts";

/** A record that is not in the journal any more. */
export interface WhereCut {
  /** False where its segment was deleted. */
  readonly isArchived: boolean;
  /** The file name of its segment in the archive, where that is known. */
  readonly segment: string | undefined;
  /** The last segment that is gone. */
  readonly through: string;
}

/** Nobody is made to open more files with one question. */
const MAX_ARCHIVED = 256;

export class ArchivedRecords {
  readonly #readHeads: (cut: JournalCut) => AsyncIterable<CutHead>;
  #cut: JournalCut | undefined;
  #archive: string | undefined;
  #waits = 0;
  #numbers: readonly number[] = [];
  #ends: Promise<ReadonlySet<string>> | undefined;

  /** `readHeads` reads where chains stood at a cut. */
  constructor(readHeads: (cut: JournalCut) => AsyncIterable<CutHead>) {
    this.#readHeads = readHeads;
  }

  /** Looks from now on behind this cut, and into this archive; what of the cut still `waits` is not there yet. */
  follow(cut: JournalCut | undefined, archive: string | undefined, waits = 0): void {
    const isSame = cut?.cutId === this.#cut?.cutId;
    if (isSame && archive === this.#archive && waits === this.#waits) return;
    if (!isSame) this.#ends = undefined;
    this.#cut = cut;
    this.#archive = archive;
    this.#waits = waits;
    this.#numbers =
      archive === undefined ? [] : segmentsIn(archive).toReversed().slice(0, MAX_ARCHIVED);
  }

  async find(auditId: string): Promise<WhereCut | undefined> {
    const cut = this.#cut;
    if (cut === undefined) return undefined;
    const { isArchived } = cut;
    const through = segmentName(cut.through);
    for (const number of this.#archive === undefined ? [] : this.#numbers) {
      const found = await findInIndex(this.#archive ?? "", number, auditId);
      if (found === undefined || found === "no-index") continue;
      return { isArchived: true, segment: segmentName(number), through };
    }
    this.#ends ??= this.#readEnds(cut);
    if (!(await this.#ends).has(auditId)) return undefined;
    return { isArchived, segment: undefined, through };
  }

  /** A file that is damaged is told of by those who verify it. */
  async #readEnds(cut: JournalCut): Promise<ReadonlySet<string>> {
    const ends = new Set<string>();
    try {
      for await (const head of this.#readHeads(cut)) ends.add(head.auditId);
    } catch {
      return ends;
    }
    return ends;
  }
}
