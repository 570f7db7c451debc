/**
 * Imports an export into an empty store and an empty journal directory. The places of records are assigned anew;
 * everything else is unchanged. The caller discards a partial import.
 */
import { appendCut } from "../journal/cut-file.ts";
import { writeCutHeads } from "../journal/cut-heads.ts";
import { FileJournal } from "../journal/file-journal.ts";
import type { JournalPosition } from "../journal/journal.ts";
import { knownChainChanges } from "../records/known-chains.ts";
import type { Store } from "../store.ts";
import { type ImportReport, type ImportTarget, importLines } from "./import-lines.ts";
import type { StateHeader } from "./state-file.ts";

interface FilesImport {
  readonly store: Store;
  /** The journal's directory. */
  readonly directory: string;
  /** Throws if the file is not for this deployment. */
  onHeader(header: StateHeader): void;
}

/**
 * Imports the octets of a file.
 * @throws StateFileError for an invalid file
 */
export async function importState(
  octets: AsyncIterable<Buffer>,
  { store, directory, onHeader }: FilesImport,
): Promise<ImportReport> {
  let journal: FileJournal | undefined;
  try {
    return await importLines(octets, async (header) => {
      onHeader(header);
      const onFault = (error: unknown): never => {
        throw error;
      };
      const { first_segment: firstSegment } = header;
      journal = await FileJournal.open({ directory, firstSegment, onFault });
      return filesTarget(store, directory, journal);
    });
  } finally {
    await journal?.close();
  }
}

function filesTarget(store: Store, directory: string, journal: FileJournal): ImportTarget {
  let checkpoint: JournalPosition | undefined;
  return {
    addCut: ({ jws }) => appendCut(directory, jws),
    addRecord: ({ jws, linked: { auditId } }) => ({
      ...journal.write([{ auditId, jws }]),
      length: jws.length,
    }),
    addCheckpoint: () => {
      checkpoint = journal.position;
    },
    write: async (entries) => {
      if (entries.length > 0) await store.commit(entries);
    },
    writeCutHeads: ({ heads }, ends) => writeCutHeads(directory, heads.file, ends),
    finish: async (heads) => {
      await journal.sync();
      await store.commit(knownChainChanges(heads, checkpoint ?? journal.position));
    },
  };
}
