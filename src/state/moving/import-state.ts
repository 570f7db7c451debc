/**
 * Imports an export into an empty store and an empty directory for the journal. Where records stand
 * is noted anew; everything else is as it was. What is half imported is for the caller to throw away.
 */
import { appendCut } from "../journal/cut-file.ts";
import { writeCutHeads } from "../journal/cut-heads.ts";
import { FileJournal } from "../journal/file-journal.ts";
import type { JournalPosition } from "../journal/journal.ts";
import { CHAIN_HEADS, knownChainChanges } from "../records/known-chains.ts";
import type { Change, Store } from "../store.ts";
import {
  BATCH,
  BATCH_CHARACTERS,
  ImportedChains,
  type ImportLine,
  type ImportReport,
  readImport,
} from "./imported-chains.ts";
import type { StateHeader } from "./state-file.ts";

/** Where it goes. */
interface ImportTarget {
  readonly store: Store;
  /** The journal's directory. */
  readonly directory: string;
  /** Throws where the file is not for this deployment. */
  onHeader(header: StateHeader): void;
}

/** Imports the octets of a file. @throws StateFileError for a file that does not hold. */
export async function importState(
  octets: AsyncIterable<Buffer>,
  { store, directory, onHeader }: ImportTarget,
): Promise<ImportReport> {
  let entering: Entering | undefined;
  let journal: FileJournal | undefined;
  try {
    const report = await readImport(octets, async (header) => {
      onHeader(header);
      const onFault = (error: unknown): never => {
        throw error;
      };
      const { first_segment: firstSegment } = header;
      journal = await FileJournal.open({ directory, firstSegment, onFault });
      entering = new Entering(store, directory, journal);
      return (line) => entering!.add(line);
    });
    await entering?.finish();
    return report;
  } finally {
    await journal?.close();
  }
}

/** The store and the journal while they are written. */
class Entering {
  readonly #store: Store;
  readonly #directory: string;
  readonly #journal: FileJournal;
  readonly #chains = new ImportedChains();
  #changes: Change[] = [];
  #characters = 0;
  #checkpoint: JournalPosition | undefined;

  constructor(store: Store, directory: string, journal: FileJournal) {
    this.#store = store;
    this.#directory = directory;
    this.#journal = journal;
  }

  async add(line: ImportLine): Promise<void> {
    switch (line.kind) {
      case "checkpoint":
        this.#checkpoint = this.#journal.position;
        return;
      case "cut":
        this.#chains.addCut(line.jws);
        return appendCut(this.#directory, line.jws);
      case "cut-head":
        return this.#chains.addCutHead(line.head);
      case "record": {
        const { jws, linked } = line;
        const { agentId, auditId, at, method } = linked;
        const place = { ...this.#journal.write([{ auditId, jws }]), length: jws.length };
        this.#chains.heads.set(agentId, { auditId, at, method, place });
        return;
      }
      default:
        return this.#addEntry(line);
    }
  }

  /** Behind the last line: only now the entries say where the chains end. */
  async finish(): Promise<void> {
    await this.#chains.writeCutHeads(({ heads }, ends) =>
      writeCutHeads(this.#directory, heads.file, ends),
    );
    await this.#flush();
    await this.#journal.sync();
    const { position } = this.#journal;
    await this.#store.commit(knownChainChanges(this.#chains.heads, this.#checkpoint ?? position));
  }

  async #addEntry(line: Change): Promise<void> {
    // The later of two stands for both: the feed repeats what has changed.
    if (line.collection === CHAIN_HEADS) this.#chains.noteHead(line);
    else {
      this.#changes.push(line);
      if (line.kind === "put") this.#characters += JSON.stringify(line.value)?.length ?? 0;
    }
    if (this.#changes.length >= BATCH || this.#characters >= BATCH_CHARACTERS) await this.#flush();
  }

  async #flush(): Promise<void> {
    const changes = this.#changes;
    this.#changes = [];
    this.#characters = 0;
    if (changes.length > 0) await this.#store.commit(changes);
  }
}
