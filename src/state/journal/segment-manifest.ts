/**
 * The manifest of segments, `segments.json`: the size, record count, and first and last Audit-ID of each finished
 * segment, so that a missing or truncated file is detected without reading a chain.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { parseRecord } from "../../base/json-value.ts";
import { replaceDerivedFile } from "../../base/state-files.ts";
import { recordReader } from "../records/stored-record.ts";
import { type RecordPlaces, readPlaces } from "./record-places.ts";
import { segmentName } from "./segment.ts";

/** The description of a finished segment. */
export interface SegmentDescription {
  readonly file: string;
  readonly records: number;
  readonly bytes: number;
  readonly first_audit_id: string;
  readonly last_audit_id: string;
}

const MANIFEST = "segments.json";
const MAX_BYTES = 64 * 1024 * 1024;

/** A finished segment, with its records if available. */
export interface FinishedSegment {
  readonly number: number;
  readonly records?: RecordPlaces;
}

/** Adds finished segments to the manifest of their directory, unless they are in it. */
export async function describeSegments(
  directory: string,
  finished: readonly FinishedSegment[],
): Promise<void> {
  const path = join(directory, MANIFEST);
  const segments = [...(await readDescriptions(path))];
  const known = new Set(segments.map(({ file }) => file));
  const missing = finished.filter(({ number }) => !known.has(segmentName(number)));
  if (missing.length === 0) return;
  for (const { number, records } of missing) {
    segments.push(describe(number, records ?? (await readPlaces(directory, number))));
  }
  segments.sort((left, right) => (left.file < right.file ? -1 : 1));
  await replaceDerivedFile(path, `${JSON.stringify({ segments }, undefined, 1)}\n`);
}

/** Removes segments from the manifest that were altered on purpose; the next start describes them again. */
export async function forgetSegments(directory: string, files: readonly string[]): Promise<void> {
  const path = join(directory, MANIFEST);
  const segments = (await readDescriptions(path)).filter(({ file }) => !files.includes(file));
  await replaceDerivedFile(path, `${JSON.stringify({ segments }, undefined, 1)}\n`);
}

function describe(number: number, records: RecordPlaces): SegmentDescription {
  const last = records.at(-1);
  return {
    file: segmentName(number),
    records: records.length,
    bytes: last === undefined ? 0 : last.offset + last.length + 1,
    first_audit_id: records.at(0)?.auditId ?? "",
    last_audit_id: last?.auditId ?? "",
  };
}

/** An unreadable manifest is rebuilt, since it only repeats what the segments contain. */
async function readDescriptions(path: string): Promise<readonly SegmentDescription[]> {
  return describedIn(await readFile(path, "utf8").catch(() => ""), named);
}

/** Reads the descriptions in a directory's manifest; malformed entries are skipped. */
export function readSegmentDescriptions(directory: string): readonly SegmentDescription[] {
  return describedIn(readBoundedFile(join(directory, MANIFEST), MAX_BYTES).text ?? "", described);
}

type Reader = (value: unknown) => SegmentDescription | undefined;

function describedIn(text: string, read: Reader): readonly SegmentDescription[] {
  const segments = parseRecord(text)?.["segments"];
  return Array.isArray(segments) ? segments.flatMap((one) => read(one) ?? []) : [];
}

const named: Reader = recordReader<SegmentDescription>({ file: "string" });
const described: Reader = recordReader<SegmentDescription>({
  ...{ file: "string", records: "number", bytes: "number" },
  ...{ first_audit_id: "string", last_audit_id: "string" },
});
