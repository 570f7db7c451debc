/**
 * The dates of manifests: for each content the pair that was stored first. The store shares them among nodes and
 * workers; a file in the state directory replaces a store that does not persist.
 * AGTP-API §8.3
 */
import { accessSync, constants, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { isRecord, parseJson } from "../../base/json-value.ts";
import { makeDirectory } from "../../base/paths.ts";
import { Collection } from "../../state/collection.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Store } from "../../state/store.ts";
import type { ManifestDates } from "./document.ts";

/** While nodes change to another configuration there are two contents; the oldest are evicted. */
const QUOTA = { all: 64 };

/** The dates that this process publishes, and the stored dates. */
export class KeptDates {
  #stored: Collection<ManifestDates> | undefined;
  #told: { readonly hash: string; readonly dates: ManifestDates } | undefined;
  #revision = 0;

  static async open(this: void, store: Store): Promise<KeptDates> {
    const kept = new KeptDates();
    kept.#stored = await Collection.open<ManifestDates>(store, {
      name: "manifest-dates",
      read: recordReader<ManifestDates>({ issued: "string", updated: "string" }),
      orderOf: ({ updated }) => Date.parse(updated),
      quota: QUOTA,
      onChange: (_, after, hash) => kept.#hear(hash, after),
    });
    return kept;
  }

  /** Increases when another process stored other dates first for this process's content. */
  get revision(): number {
    return this.#revision;
  }

  /** The dates of a content; `updated` changes exactly when the content does. */
  of(hash: string, file: string, now: Date): ManifestDates {
    const inFile = readKept(file);
    const told = this.#told?.hash === hash ? this.#told.dates : undefined;
    const dates = this.#stored?.get(hash) ?? told ?? datesOf(inFile, hash);
    if (dates !== undefined) return this.#tell(hash, dates);
    const known = [...(this.#stored?.values() ?? []), ...(inFile === undefined ? [] : [inFile])];
    const updated = now.toISOString();
    const [issued = updated] = known.map((one) => one.issued).toSorted();
    return this.#tell(hash, { issued, updated });
  }

  /** Stores published dates; rejects if the store or the file cannot be written. */
  async keep(hash: string, file: string, told: ManifestDates): Promise<void> {
    const adding = await this.#stored?.add(hash, told);
    const dates = adding?.kind === "taken" ? adding.item : told;
    this.#hear(hash, dates);
    keepInFile(file, { ...dates, content_hash: hash });
  }

  #tell(hash: string, dates: ManifestDates): ManifestDates {
    this.#told = { hash, dates };
    return dates;
  }

  #hear(hash: string, dates: ManifestDates | undefined): void {
    if (dates === undefined || this.#told?.hash !== hash) return;
    const { issued, updated } = this.#told.dates;
    if (issued === dates.issued && updated === dates.updated) return;
    this.#told = { hash, dates };
    this.#revision += 1;
  }
}

/** The path of the dates file. */
export function manifestFile(directory: string): string {
  return join(directory, ".agtp", "manifest.json");
}

/** The file's dates, with the hash of the content served last. */
interface DatesInFile extends ManifestDates {
  readonly content_hash: string;
}

const MAX_BYTES = 65_536;

function datesOf(inFile: DatesInFile | undefined, hash: string): ManifestDates | undefined {
  if (inFile?.content_hash !== hash) return undefined;
  return { issued: inFile.issued, updated: inFile.updated };
}

function keepInFile(file: string, dates: DatesInFile): void {
  const before = readKept(file);
  if (before?.content_hash === dates.content_hash && before.updated === dates.updated) return;
  makeDirectory(dirname(file), 0o700);
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(dates)}\n`, { mode: 0o600 });
  renameSync(temporary, file);
}

/**
 * Throws if the dates file could not be written: the path is not a file, or its directory is not writable. A missing
 * directory is no fault, since it is created.
 */
export function checkKeepable(file: string): void {
  const directory = dirname(file);
  const [one, place] = [file, directory].map((path) => statSync(path, { throwIfNoEntry: false }));
  if (one?.isFile() === false) throw new Error(`${file} is not a file`);
  if (place?.isDirectory() === false) throw new Error(`${directory} is not a directory`);
  if (place !== undefined) accessSync(directory, constants.W_OK);
}

/** Undefined if the file is missing or unreadable; the manifest then counts as new. */
function readKept(file: string): DatesInFile | undefined {
  const kept = parseJson(readBoundedFile(file, MAX_BYTES).text ?? "");
  return isKept(kept) ? kept : undefined;
}

function isKept(value: unknown): value is DatesInFile {
  if (!isRecord(value)) return false;
  const { issued, updated, content_hash: hash } = value;
  return [issued, updated, hash].every((member) => typeof member === "string");
}
