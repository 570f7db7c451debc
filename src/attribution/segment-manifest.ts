/**
 * The manifest of segments, `segments.json`: for each finished segment its size, its hash, how many
 * records it has, and the first and last of them, so that a copy of the journal can be checked
 * without reading a chain.
 */
import { createHash } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isRecord } from "../json-value.ts";
import { readSegment, segmentName } from "./segment.ts";
import { readSmall } from "./segment-index.ts";

/** One finished segment. */
export interface SegmentDescription {
  readonly file: string;
  readonly records: number;
  readonly bytes: number;
  /** SHA-256 of the file, hex. */
  readonly sha256: string;
  readonly first_audit_id: string;
  readonly last_audit_id: string;
}

const MANIFEST = "segments.json";

/** Adds a finished segment to the manifest of its directory, where it is not there yet. */
export async function describeSegment(directory: string, number: number): Promise<void> {
  const path = join(directory, MANIFEST);
  const others = readDescriptions(await readSmall(path));
  if (others.some(({ file }) => file === segmentName(number))) return;
  const description = await summarize(directory, number);
  const segments = [...others, description].sort((left, right) =>
    left.file < right.file ? -1 : 1,
  );
  await writeFile(`${path}.tmp`, `${JSON.stringify({ segments }, undefined, 1)}\n`, {
    mode: 0o600,
  });
  await rename(`${path}.tmp`, path);
}

async function summarize(directory: string, number: number): Promise<SegmentDescription> {
  const digest = createHash("sha256");
  let records = 0;
  let bytes = 0;
  let first = "";
  let last = "";
  for await (const { jws, auditId, length } of readSegment(directory, number)) {
    digest.update(`${jws}\n`, "latin1");
    records += 1;
    bytes += length + 1;
    first ||= auditId;
    last = auditId;
  }
  return {
    file: segmentName(number),
    records,
    bytes,
    sha256: digest.digest("hex"),
    first_audit_id: first,
    last_audit_id: last,
  };
}

/** A manifest that cannot be read is begun again: it says nothing that the segments do not. */
function readDescriptions(text: string | undefined): readonly SegmentDescription[] {
  try {
    const parsed: unknown = JSON.parse(text ?? "");
    if (!isRecord(parsed) || !Array.isArray(parsed["segments"])) return [];
    return parsed["segments"].filter((one) => isRecord(one) && typeof one["file"] === "string");
  } catch {
    return [];
  }
}
