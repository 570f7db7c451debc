/**
 * Finds where retention moved a record: in the indexes of archived segments, newest first, and among the chain heads
 * of the last cut.   AGTP-IDENTIFIERS "Audit Log"
 */
import { codeOf } from "../../base/thrown.ts";
import { type CutHead, CutHeadsError } from "./cut-heads.ts";
import type { JournalCut } from "./cut-record.ts";
import { segmentName, segmentNumber, segmentsIn } from "./segment.ts";
import { findInIndex } from "./segment-index.ts";

/** A record that is no longer in the journal. */
export interface WhereCut {
  /** False if its segment was deleted. */
  readonly isArchived: boolean;
  /** The file name of its segment in the archive, if known. */
  readonly segment: string | undefined;
  /** The last segment cut. */
  readonly through: string;
}

/** Bounds the files that one query opens. */
const MAX_ARCHIVED = 256;

export class ArchivedRecords {
  readonly #readHeads: (cut: JournalCut) => AsyncIterable<CutHead>;
  readonly #journal: string | undefined;
  #cut: JournalCut | undefined;
  #archive: string | undefined;
  #waits = 0;
  #numbers: readonly number[] = [];
  /** The segments of the last cut, which may still be moving. */
  #moving: ReadonlySet<number> = new Set();
  #ends: Promise<ReadonlySet<string>> | undefined;

  /** `readHeads` reads the heads of a cut; `journal` is the directory of the segments, if they are files. */
  constructor(readHeads: (cut: JournalCut) => AsyncIterable<CutHead>, journal?: string) {
    this.#readHeads = readHeads;
    this.#journal = journal;
  }

  /**
   * Searches behind this cut and in this archive from now on. Segments of the cut may still be moving; `waits`
   * counts those not in the archive yet.
   */
  follow(cut: JournalCut | undefined, archive: string | undefined, waits = 0): void {
    const isSame = cut?.cutId === this.#cut?.cutId;
    if (isSame && archive === this.#archive && waits === this.#waits) return;
    if (!isSame) this.#ends = undefined;
    this.#cut = cut;
    this.#archive = archive;
    this.#waits = waits;
    this.#moving = new Set(cut?.segments.map(({ file }) => segmentNumber(file) ?? 0));
    const numbers = archive === undefined ? [] : [...segmentsIn(archive), ...this.#moving];
    const newestFirst = [...new Set(numbers)].sort((left, right) => right - left);
    this.#numbers = newestFirst.slice(0, MAX_ARCHIVED);
  }

  async find(auditId: string): Promise<WhereCut | undefined> {
    const cut = this.#cut;
    if (cut === undefined) return undefined;
    const { isArchived } = cut;
    const through = segmentName(cut.through);
    const archive = this.#archive;
    for (const number of archive === undefined ? [] : this.#numbers) {
      if (!(await this.#isIn(archive ?? "", number, auditId))) continue;
      return { isArchived: true, segment: segmentName(number), through };
    }
    this.#ends ??= this.#readEnds(cut);
    if (!(await this.#ends).has(auditId)) return undefined;
    return { isArchived, segment: undefined, through };
  }

  /** A segment moves before its index, so the index is looked for at the old place first. */
  async #isIn(archive: string, number: number, auditId: string): Promise<boolean> {
    const isMoving = this.#journal !== undefined && this.#moving.has(number);
    for (const place of isMoving ? [this.#journal ?? "", archive] : [archive]) {
      const found = await findInIndex(place, number, auditId, archive);
      if (found !== undefined && found !== "no-index") return true;
    }
    return false;
  }

  async #readEnds(cut: JournalCut): Promise<ReadonlySet<string>> {
    const ends = new Set<string>();
    try {
      for await (const head of this.#readHeads(cut)) ends.add(head.auditId);
    } catch (error) {
      // Verification reports a damaged file.
      if (error instanceof CutHeadsError) return ends;
      // Cleared, so that the next query reads them again.
      this.#ends = undefined;
      if (codeOf(error) !== "ENOENT") throw error;
    }
    return ends;
  }
}
