/**
 * Imports an export into an empty store and an empty directory for the journal. Where records stand
 * is noted anew; everything else is as it was. What is half imported is for the caller to throw away.
 */
import { appendCut } from "../journal/cut-file.ts";
import { type CutHead, writeCutHeads } from "../journal/cut-heads.ts";
import type { JournalCut } from "../journal/cut-record.ts";
import { FileJournal } from "../journal/file-journal.ts";
import type { JournalPosition, JournalRecord } from "../journal/journal.ts";
import { CHAIN_HEADS, knownChainChanges, readHead } from "../records/known-chains.ts";
import type { ChainHead } from "../records/record-store.ts";
import type { Change, Store } from "../store.ts";
import { checkCutHeads, followingCut } from "./imported-cuts.ts";
import { readStateFile, StateFileError } from "./read-state-file.ts";
import type { StateHeader } from "./state-file.ts";

/** Where it goes. */
interface ImportTarget {
  readonly store: Store;
  /** The journal's directory. */
  readonly directory: string;
  /** Throws where the file is not for this deployment. */
  onHeader(header: StateHeader): void;
}

/** The report of an import. */
export interface ImportReport {
  readonly header: StateHeader;
  readonly entries: number;
  readonly records: number;
  readonly chains: number;
}

/** So many are written together. */
const BATCH = 500;
/** Characters that are written together. */
const BATCH_CHARACTERS = 4 * 1024 * 1024;

/** Imports the octets of a file. @throws StateFileError for a file that does not hold. */
export async function importState(
  octets: AsyncIterable<Buffer>,
  target: ImportTarget,
): Promise<ImportReport> {
  let entering: Entering | undefined;
  let header: StateHeader | undefined;
  let totals: Omit<ImportReport, "header"> | undefined;
  try {
    for await (const one of readStateFile(octets)) {
      if (one.kind === "header") {
        header = one.header;
        target.onHeader(header);
        entering = await Entering.begin(target, header.first_segment);
      } else if (one.kind === "end")
        totals = { entries: one.entries, records: one.records, chains: one.chains };
      else if (one.kind === "checkpoint") entering?.checkpoint();
      else if (one.kind === "record") {
        entering?.addRecord({ auditId: one.linked.auditId, jws: one.jws }, one.linked);
      } else if (one.kind === "cut") await entering?.addCut(one.jws);
      else if (one.kind === "cut-head") entering?.addCutHead(one.head);
      else await entering?.addEntry(one);
    }
    if (header === undefined || totals === undefined) throw new StateFileError("is empty");
    await entering?.finish();
    return { header, ...totals };
  } finally {
    await entering?.close();
  }
}

/** The store and the journal while they are written. */
class Entering {
  readonly #store: Store;
  readonly #journal: FileJournal;
  readonly #heads = new Map<string, ChainHead>();
  #changes: Change[] = [];
  #characters = 0;
  #checkpoint: JournalPosition | undefined;
  readonly #directory: string;
  #cut: JournalCut | undefined;
  readonly #cutHeads: CutHead[] = [];

  private constructor({ store, directory }: ImportTarget, journal: FileJournal) {
    this.#store = store;
    this.#directory = directory;
    this.#journal = journal;
  }

  static async begin(target: ImportTarget, firstSegment: number): Promise<Entering> {
    const { directory } = target;
    const onFault = (error: unknown): never => {
      throw error;
    };
    const journal = await FileJournal.open({ directory, firstSegment, onFault });
    return new Entering(target, journal);
  }

  async addEntry(change: Change): Promise<void> {
    // The later of two stands for both: the feed repeats what has changed.
    if (change.collection === CHAIN_HEADS) this.#noteHead(change);
    else {
      this.#changes.push(change);
      if (change.kind === "put") this.#characters += JSON.stringify(change.value)?.length ?? 0;
    }
    if (this.#changes.length >= BATCH || this.#characters >= BATCH_CHARACTERS) await this.#flush();
  }

  async addCut(jws: string): Promise<void> {
    this.#cut = followingCut(jws, this.#cut);
    await appendCut(this.#directory, jws);
  }

  addCutHead(head: CutHead): void {
    this.#cutHeads.push(head);
  }

  addRecord(
    record: JournalRecord,
    { agentId, at, method }: Pick<ChainHead, "at" | "method"> & { readonly agentId: string },
  ): void {
    const { length } = record.jws;
    const place = { ...this.#journal.write([record]), length };
    this.#heads.set(agentId, { auditId: record.auditId, at, method, place });
  }

  checkpoint(): void {
    this.#checkpoint = this.#journal.position;
  }

  /** Behind the last line: only now the entries say where the chains end. */
  async finish(): Promise<void> {
    await this.#writeCutHeads();
    await this.#flush();
    await this.#journal.sync();
    const { position } = this.#journal;
    await this.#store.commit(knownChainChanges(this.#heads, this.#checkpoint ?? position));
  }

  async close(): Promise<void> {
    await this.#journal.close();
  }

  async #writeCutHeads(): Promise<void> {
    if (this.#cut === undefined) return;
    const { heads } = this.#cut;
    checkCutHeads(await writeCutHeads(this.#directory, heads.file, this.#cutHeads), heads);
  }

  #noteHead(change: Change): void {
    const head = change.kind === "put" ? readHead(change.value) : undefined;
    if (head === undefined) this.#heads.delete(change.key);
    else this.#heads.set(change.key, head);
  }

  async #flush(): Promise<void> {
    const changes = this.#changes;
    this.#changes = [];
    this.#characters = 0;
    if (changes.length > 0) await this.#store.commit(changes);
  }
}
