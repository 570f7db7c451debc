/**
 * Reads an export for an import, whatever it goes to, and gathers what is written at its end: where the
 * chains stand, and where they stood at the last cut. A checkpoint is believed only where it follows the
 * one before it.
 */
import type { CutHead } from "../journal/cut-heads.ts";
import {
  type CutHeadsFile,
  findCutFault,
  type JournalCut,
  readCut,
} from "../journal/cut-record.ts";
import { readHead } from "../records/known-chains.ts";
import type { ChainHead } from "../records/record-store.ts";
import type { Change } from "../store.ts";
import { type ReadLine, readStateFile, StateFileError } from "./read-state-file.ts";
import type { StateHeader } from "./state-file.ts";

/** The report of an import. */
export interface ImportReport {
  readonly header: StateHeader;
  readonly entries: number;
  readonly records: number;
  readonly chains: number;
}

/** A line between the header and the end. */
export type ImportLine = Exclude<ReadLine, { readonly kind: "header" | "end" }>;

/** So many lines are written together, or so many characters. */
export const BATCH = 500;
export const BATCH_CHARACTERS: number = 4 * 1024 * 1024;

/** Reads a file; `begin` is given its header and takes all lines behind it. @throws StateFileError */
export async function readImport(
  octets: AsyncIterable<Buffer>,
  begin: (header: StateHeader) => Promise<(line: ImportLine) => Promise<void>>,
): Promise<ImportReport> {
  let header: StateHeader | undefined;
  let add: ((line: ImportLine) => Promise<void>) | undefined;
  let report: ImportReport | undefined;
  for await (const one of readStateFile(octets)) {
    if (one.kind === "header") {
      ({ header } = one);
      add = await begin(header);
    } else if (one.kind !== "end") await add?.(one);
    else if (header !== undefined) {
      const { entries, records, chains } = one;
      report = { header, entries, records, chains };
    }
  }
  if (report === undefined) throw new StateFileError("is empty");
  return report;
}

export class ImportedChains {
  /** By agent, where its chain ends by the lines so far. */
  readonly heads: Map<string, ChainHead> = new Map();
  #cut: JournalCut | undefined;
  readonly #cutHeads: CutHead[] = [];

  /** An entry that says where a chain ends, or that it is gone. */
  noteHead(line: Change): void {
    const head = line.kind === "put" ? readHead(line.value) : undefined;
    if (head === undefined) this.heads.delete(line.key);
    else this.heads.set(line.key, head);
  }

  /** Reads a checkpoint behind the one before it. @throws StateFileError */
  addCut(jws: string): JournalCut {
    const cut = readCut(jws);
    const fault = cut === undefined ? "is none" : findCutFault(cut, this.#cut);
    if (cut === undefined || fault !== undefined) {
      throw new StateFileError(`has a checkpoint that ${fault}`);
    }
    this.#cut = cut;
    return cut;
  }

  addCutHead(head: CutHead): void {
    this.#cutHeads.push(head);
  }

  /** Has the ends of chains written that were signed with the last checkpoint. @throws StateFileError */
  async writeCutHeads(
    write: (cut: JournalCut, heads: readonly CutHead[]) => Promise<CutHeadsFile>,
  ): Promise<void> {
    if (this.#cut === undefined) return;
    const { sha256 } = await write(this.#cut, this.#cutHeads);
    if (sha256 === this.#cut.heads.sha256) return;
    throw new StateFileError("has other ends of chains than were signed with the last cut");
  }
}
