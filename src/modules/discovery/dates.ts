/**
 * When the manifest was first issued and last changed, kept across restarts in the state directory.
 * `updated` moves exactly when the content does.   AGTP-API §8.3
 */
import { renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { isRecord } from "../../base/json-value.ts";
import { makeDirectory } from "../../base/make-directory.ts";
import type { ManifestDates } from "./document.ts";

interface KeptDates extends ManifestDates {
  readonly content_hash: string;
}

const MAX_BYTES = 65_536;

/** The dates that belong to this content, given what was kept before. */
export function resolveDates(file: string, contentHash: string, now: Date): ManifestDates {
  const kept = readKept(file);
  if (kept?.content_hash === contentHash) return { issued: kept.issued, updated: kept.updated };
  const updated = now.toISOString();
  return { issued: kept?.issued ?? updated, updated };
}

/** Keeps the dates; throws when the state directory cannot be written. */
export function keepDates(file: string, contentHash: string, dates: ManifestDates): void {
  const kept: KeptDates = { ...dates, content_hash: contentHash };
  if (readKept(file)?.content_hash === contentHash) return;
  makeDirectory(dirname(file), 0o700);
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(kept)}\n`, { mode: 0o600 });
  renameSync(temporary, file);
}

/** Undefined when nothing was kept, or nothing readable: the manifest is then issued now. */
function readKept(file: string): KeptDates | undefined {
  try {
    const kept: unknown = JSON.parse(readBoundedFile(file, MAX_BYTES).text ?? "");
    return isKept(kept) ? kept : undefined;
  } catch {
    return undefined;
  }
}

function isKept(value: unknown): value is KeptDates {
  if (!isRecord(value)) return false;
  const { issued, updated, content_hash: hash } = value;
  return [issued, updated, hash].every((member) => typeof member === "string");
}
