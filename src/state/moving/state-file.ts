/**
 * The file of `agtpd state export`: a line of JSON each, first a header, then the store's entries, then the
 * journal's records in order, then the totals. A reader needs memory for one line only.   docs/state.md
 */
import {
  isRecord,
  isTexts,
  type JsonRecord,
  parseRecord,
  quoteValue,
} from "../../base/json-value.ts";
import { VERSION } from "../../base/version.ts";
import { MAX_NAME_BYTES, MAX_VALUE_BYTES } from "../entry-limits.ts";
import { type CutHead, cutHeadValue, readCutHead } from "../journal/cut-heads.ts";
import { segmentName, segmentNumber } from "../journal/segment.ts";
import type { Change } from "../store.ts";

const STATE_FORMAT = "agtpd-state";
const STATE_FORMAT_VERSION = 1;
const STATE_FILE_START = `{"format":"${STATE_FORMAT}"`;
/** The largest value with its names, each octet of which may be escaped. */
export const MAX_LINE_BYTES: number = MAX_VALUE_BYTES + 16 * MAX_NAME_BYTES;

/** True if a text begins like a file of this format. */
export function beginsAsStateFile(text: string): boolean {
  return text.startsWith(STATE_FILE_START);
}

/** The first line. */
export interface StateHeader {
  readonly server_id: string;
  /** RFC 3339. */
  readonly created_at: string;
  /** The build that wrote the file. */
  readonly agtpd: string;
  /** The first segment of the journal; earlier ones were removed. */
  readonly first_segment: number;
}

/** A line after the header. */
export type StateLine =
  /** An entry; or the deletion of an earlier one during the export. */
  | Change
  | { readonly kind: "record"; readonly jws: string }
  /** The signed checkpoint of removed segments, before the entries. */
  | { readonly kind: "cut"; readonly jws: string }
  /** A chain head of the last cut, after the cuts. */
  | { readonly kind: "cut-head"; readonly head: CutHead }
  /** The entries include the effects of the records before this line. */
  | { readonly kind: "checkpoint" }
  | ({ readonly kind: "end" } & StateTotals)
  /** The last line of a failed export. */
  | { readonly kind: "failed"; readonly message: string };

/** The last line. */
interface StateTotals {
  /** Lines that put or delete an entry. */
  readonly entries: number;
  readonly records: number;
  /** SHA-256 of the preceding lines, 64 lower-case hex digits. */
  readonly sha256: string;
}

/** Returns the header line of an export that begins now. */
export function headerLine(serverId: string, firstSegment: number): string {
  const header: StateHeader = {
    ...{ server_id: serverId, created_at: new Date().toISOString(), agtpd: VERSION },
    first_segment: firstSegment,
  };
  return line({ format: STATE_FORMAT, version: STATE_FORMAT_VERSION, ...header });
}

/** Serializes a line after the header. */
export function stateLine(one: StateLine): string {
  switch (one.kind) {
    case "put":
      return line({ put: [one.collection, one.key], value: one.value });
    case "delete":
      return line({ delete: [one.collection, one.key] });
    case "record":
      return line({ record: one.jws });
    case "cut":
      return line({ cut: one.jws });
    case "cut-head":
      return line({ cut_head: cutHeadValue(one.head) });
    case "checkpoint":
      return line({ checkpoint: true });
    case "failed":
      return line({ failed: one.message });
    case "end":
      return line({
        end: { entries: one.entries, records: one.records, sha256: one.sha256 },
      });
  }
}

function line(value: JsonRecord): string {
  return `${JSON.stringify(value)}\n`;
}

/** Reads the header of a file; returns the reason if this build cannot read it. */
export function readHeader(text: string): StateHeader | string {
  const value = parseRecord(text);
  if (value === undefined || value["format"] !== STATE_FORMAT) {
    return "is no state of agtpd: expected a file that agtpd state export has written";
  }
  const { version, server_id, created_at, agtpd, first_segment } = value;
  if (version !== STATE_FORMAT_VERSION) {
    return `has version ${quoteValue(version)} of the format, this build reads version ${STATE_FORMAT_VERSION}`;
  }
  if (typeof server_id !== "string" || typeof created_at !== "string") return DAMAGED;
  if (typeof agtpd !== "string" || !isNumber(first_segment)) return DAMAGED;
  if (segmentNumber(segmentName(first_segment)) === undefined || first_segment < 1) return DAMAGED;
  return { server_id, created_at, agtpd, first_segment };
}

const DAMAGED = "is damaged: it does not say all that a header has to";

/** Parses a line after the header; undefined if invalid. */
export function readStateLine(text: string): StateLine | undefined {
  const value = parseRecord(text);
  if (value === undefined) return undefined;
  if (value["checkpoint"] === true) return { kind: "checkpoint" };
  const { record, put, delete: gone, end, failed, cut } = value;
  if (typeof failed === "string") return { kind: "failed", message: failed };
  if (typeof record === "string") return { kind: "record", jws: record };
  if (typeof cut === "string") return { kind: "cut", jws: cut };
  const head = readCutHead(value["cut_head"]);
  if (head !== undefined) return { kind: "cut-head", head };
  if (isPlace(put) && "value" in value) {
    return { kind: "put", collection: put[0], key: put[1], value: value["value"] };
  }
  if (isPlace(gone)) return { kind: "delete", collection: gone[0], key: gone[1] };
  if (!isRecord(end)) return undefined;
  const { entries, records, sha256 } = end;
  if (!isNumber(entries) || !isNumber(records) || typeof sha256 !== "string") return undefined;
  return { kind: "end", entries, records, sha256 };
}

function isPlace(value: unknown): value is readonly [string, string] {
  return isTexts(value) && value.length === 2;
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
