/**
 * Imports the lines of an export into a target: entries in batches, records in order, and finally the chain heads,
 * current and of the last cut. A checkpoint is accepted only if it follows its predecessor.
 */
import type { CutHead } from "../journal/cut-heads.ts";
import {
  type CutHeadsFile,
  findCutFault,
  type JournalCut,
  readCut,
} from "../journal/cut-record.ts";
import type { RecordPlace } from "../journal/journal.ts";
import { segmentName } from "../journal/segment.ts";
import { CHAIN_CHECKPOINTS, CHAIN_HEADS, readHead } from "../records/known-chains.ts";
import type { ChainHead } from "../records/record-store.ts";
import type { Change } from "../store.ts";
import { type ReadLine, readStateFile, StateFileError } from "./read-state-file.ts";
import type { StateHeader } from "./state-file.ts";

export interface ImportReport {
  readonly header: StateHeader;
  readonly entries: number;
  readonly records: number;
  readonly chains: number;
}

export type ImportedRecord = Extract<ReadLine, { readonly kind: "record" }>;

export interface ImportTarget {
  addCut(cut: JournalCut): Promise<void>;
  /** Adds the next record; returns its place, if records have places. */
  addRecord(record: ImportedRecord): RecordPlace | undefined;
  /** Notes that the entries include the effects of the records so far. */
  addCheckpoint(): void;
  /** Writes entries, each key once, and the records so far. */
  write(entries: readonly Change[]): Promise<void>;
  /** Writes the chain heads of a cut. */
  writeCutHeads(cut: JournalCut, heads: readonly CutHead[]): Promise<CutHeadsFile>;
  /** Writes the chain heads, after the last line. */
  finish(heads: ReadonlyMap<string, ChainHead>): Promise<void>;
}

/** Lines written together, unless the characters reach their bound. */
export const BATCH = 500;
const BATCH_CHARACTERS = 4 * 1024 * 1024;

/**
 * Imports a file; `begin` is called with its header.
 * @throws StateFileError
 */
export async function importLines(
  octets: AsyncIterable<Buffer>,
  begin: (header: StateHeader) => Promise<ImportTarget>,
): Promise<ImportReport> {
  let header: StateHeader | undefined;
  let importing: Importing | undefined;
  let report: ImportReport | undefined;
  for await (const one of readStateFile(octets)) {
    if (one.kind === "header") {
      ({ header } = one);
      importing = new Importing(await begin(header), header.first_segment);
    } else if (one.kind !== "end") await importing?.add(one);
    else if (header !== undefined) {
      const { entries, records, chains } = one;
      report = { header, entries, records, chains };
    }
  }
  if (report === undefined) throw new StateFileError("is empty");
  await importing?.finish();
  return report;
}

class Importing {
  readonly #target: ImportTarget;
  readonly #firstSegment: number;
  /** The chain heads by agent, up to the current line. */
  readonly #heads = new Map<string, ChainHead>();
  readonly #cutHeads: CutHead[] = [];
  #cut: JournalCut | undefined;
  /** A later line of a key replaces an earlier one, since the feed repeats changed entries. */
  readonly #entries = new Map<string, Change>();
  #lines = 0;
  #characters = 0;

  constructor(target: ImportTarget, firstSegment: number) {
    this.#target = target;
    this.#firstSegment = firstSegment;
  }

  /**
   * Adds a line between the header and the end.
   * @throws StateFileError
   */
  async add(line: Exclude<ReadLine, { readonly kind: "header" | "end" }>): Promise<void> {
    switch (line.kind) {
      case "checkpoint":
        return this.#target.addCheckpoint();
      case "cut":
        return this.#addCut(line.jws);
      case "cut-head":
        this.#cutHeads.push(line.head);
        return;
      case "record": {
        const { agentId, ...head } = line.linked;
        this.#heads.set(agentId, { ...head, place: this.#target.addRecord(line) });
        return this.#count(line.jws.length);
      }
      default:
        return this.#addEntry(line);
    }
  }

  /**
   * Writes the rest, and the chain heads.
   * @throws StateFileError
   */
  async finish(): Promise<void> {
    await this.#flush();
    if (this.#cut !== undefined) {
      const { sha256 } = await this.#target.writeCutHeads(this.#cut, this.#cutHeads);
      if (sha256 !== this.#cut.heads.sha256) {
        throw new StateFileError("has other ends of chains than were signed with the last cut");
      }
    }
    await this.#target.finish(this.#heads);
  }

  async #addCut(jws: string): Promise<void> {
    const cut = readCut(jws);
    const fault = cut === undefined ? "is none" : findCutFault(cut, this.#cut);
    if (cut === undefined || fault !== undefined) {
      throw new StateFileError(`has a checkpoint that ${fault}`);
    }
    if (cut.through >= this.#firstSegment) {
      const through = segmentName(cut.through);
      throw new StateFileError(
        `has a checkpoint through ${through}, behind where its journal begins`,
      );
    }
    this.#cut = cut;
    await this.#target.addCut(cut);
  }

  async #addEntry(line: Change): Promise<void> {
    const { collection, key } = line;
    const value = line.kind === "put" ? line.value : undefined;
    if (collection === CHAIN_HEADS) {
      const head = readHead(value);
      if (head === undefined) this.#heads.delete(key);
      else this.#heads.set(key, head);
    } else if (collection !== CHAIN_CHECKPOINTS) {
      this.#entries.set(JSON.stringify([collection, key]), line);
      await this.#count(JSON.stringify(value)?.length ?? 0);
    }
  }

  async #count(characters: number): Promise<void> {
    this.#lines += 1;
    this.#characters += characters;
    if (this.#lines >= BATCH || this.#characters >= BATCH_CHARACTERS) await this.#flush();
  }

  async #flush(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    this.#lines = 0;
    this.#characters = 0;
    await this.#target.write(entries);
  }
}
