/**
 * The file of `agtpd state export`: a line of JSON each, a header first, then the entries of the
 * store, then the records of the journal in their order, then what they add up to. A reader needs no
 * more memory than one line of it takes.   docs/state.md
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
/** The largest value, and its names, each octet of which may be escaped. */
export const MAX_LINE_BYTES: number = MAX_VALUE_BYTES + 16 * MAX_NAME_BYTES;

/** Tells a file of this format by its first octets. */
export function beginsAsStateFile(text: string): boolean {
  return text.startsWith(STATE_FILE_START);
}

/** The first line. */
export interface StateHeader {
  readonly server_id: string;
  /** RFC 3339. */
  readonly created_at: string;
  /** The build that wrote it. */
  readonly agtpd: string;
  /** Where the journal begins: the segments before it were taken away. */
  readonly first_segment: number;
}

/** One line behind the header. */
export type StateLine =
  /** An entry; or that one is gone which stands further up, and was deleted while it was exported. */
  | Change
  | { readonly kind: "record"; readonly jws: string }
  /** The signed checkpoint of segments that were taken away; before all entries. */
  | { readonly kind: "cut"; readonly jws: string }
  /** Where a chain stood at the last cut; behind the cuts. */
  | { readonly kind: "cut-head"; readonly head: CutHead }
  /** The entries know everything that the records before it tell. */
  | { readonly kind: "checkpoint" }
  | ({ readonly kind: "end" } & StateTotals)
  /** The last line where something went wrong; no file has it. */
  | { readonly kind: "failed"; readonly message: string };

/** The last line. */
interface StateTotals {
  /** Lines that put or delete one. */
  readonly entries: number;
  readonly records: number;
  /** Over every octet of the lines before, 64 lower-case hex digits. */
  readonly sha256: string;
}

/** The header as a line, of an export that begins now. */
export function headerLine(serverId: string, firstSegment: number): string {
  const header: StateHeader = {
    ...{ server_id: serverId, created_at: new Date().toISOString(), agtpd: VERSION },
    first_segment: firstSegment,
  };
  return line({ format: STATE_FORMAT, version: STATE_FORMAT_VERSION, ...header });
}

/** Anything behind it. */
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

/** The header of a file; in words, why this build cannot read it. */
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

/** A line behind the header; undefined for what is none. */
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
