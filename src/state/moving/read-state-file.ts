/**
 * Reads and verifies an export line by line: a file that was altered, truncated or spliced is refused with the line.
 * Nothing may be used before the last line is read.
 */
import { createHash, hash } from "node:crypto";
import { type JsonBounds, jsonExcess } from "../../base/json-bounds.ts";
import { OctetLines } from "../../base/line-reader.ts";
import { reasonOf } from "../../base/thrown.ts";
import { decodeJws } from "../../identity/jws.ts";
import { checkName, encodeChange } from "../entry-limits.ts";
import { readChainRecord } from "../journal/journal-replay.ts";
import { CHAIN_HEADS, readHead } from "../records/known-chains.ts";
import { NO_AUDIT_ID } from "../records/record.ts";
import type { Change } from "../store.ts";
import {
  MAX_LINE_BYTES,
  readHeader,
  readStateLine,
  type StateHeader,
  type StateLine,
} from "./state-file.ts";

/** Thrown for a refused file; the message continues a sentence that begins with its name. */
export class StateFileError extends Error {
  override readonly name = "StateFileError";
}

/** A line of a file that is valid so far. */
export type ReadLine =
  | { readonly kind: "header"; readonly header: StateHeader }
  | Exclude<StateLine, { readonly kind: "record" | "end" | "failed" }>
  | { readonly kind: "record"; readonly jws: string; readonly linked: LinkedRecord }
  | {
      readonly kind: "end";
      readonly entries: number;
      readonly records: number;
      readonly chains: number;
    };

const BEHIND = "stands behind the end";

/**
 * Reads the octets of a file.
 * @throws StateFileError at the first invalid line
 */
export async function* readStateFile(octets: AsyncIterable<Buffer>): AsyncGenerator<ReadLine> {
  const digest = createHash("sha256");
  const counts = { entries: 0, records: 0 };
  const known = new Map<string, string>();
  let isWhole = true;
  const makeLinks = (): ChainLinks => new ChainLinks({ heads: known, isWhole });
  let links: ChainLinks | undefined;
  let number = 0;
  let isOver = false;
  const lines = new OctetLines(MAX_LINE_BYTES, () =>
    lineError(number + 1, "is longer than any that an export has"),
  );
  for await (const raw of linesOf(octets, lines)) {
    number += 1;
    if (isOver) throw lineError(number, BEHIND);
    const text = raw.toString("utf8");
    const one = readStateLine(text);
    if (one?.kind === "failed") throw new StateFileError(`is not whole: ${one.message}`);
    if (number === 1) {
      const header = readHeader(text);
      if (typeof header === "string") throw new StateFileError(header);
      isWhole = header.first_segment === 1;
      digest.update(raw).update("\n");
      yield { kind: "header", header };
      continue;
    }
    if (one === undefined) throw lineError(number, "is none that an export has");
    if (one.kind === "end") {
      const sha256 = digest.digest("hex");
      if (
        sha256 !== one.sha256 ||
        counts.entries !== one.entries ||
        counts.records !== one.records
      ) {
        throw lineError(number, "does not add up: a line was changed, taken out or added");
      }
      const fault = (links ?? makeLinks()).fault();
      if (fault !== undefined) throw new StateFileError(fault);
      isOver = true;
      yield { kind: "end", ...counts, chains: links?.chains ?? 0 };
      continue;
    }
    digest.update(raw).update("\n");
    if (one.kind === "cut" || one.kind === "cut-head") {
      // Must precede the records, like entries, but is not counted as one.
      if (links !== undefined) throw lineError(number, "is a cut behind records");
      yield one;
    } else if (one.kind === "put" || one.kind === "delete") {
      if (links !== undefined) throw lineError(number, "is an entry behind records");
      counts.entries += 1;
      checkEntry(one, raw, number);
      if (one.collection === CHAIN_HEADS) noteHead(known, one);
      yield one;
    } else {
      links ??= makeLinks();
      if (one.kind === "checkpoint") yield one;
      else {
        counts.records += 1;
        const linked = links.add(one.jws, `line ${number}:`);
        if (linked === undefined) throw lineError(number, "is no record of a chain");
        yield { ...one, linked };
      }
    }
  }
  if (!isOver) throw new StateFileError(`ends behind line ${number}, before it is whole`);
  if (lines.rest().length > 0) throw lineError(number + 1, BEHIND);
}

/** Bounds the nesting, since readers recurse into values and newer versions of Node's JSON have no bound. */
const ENTRY_BOUNDS: JsonBounds = {
  ...{ depth: 4_096, members: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY },
};

/** Refuses entries that no store accepts. */
function checkEntry(one: Change, raw: Buffer, number: number): void {
  const excess = jsonExcess(raw, ENTRY_BOUNDS);
  if (excess !== undefined) throw lineError(number, `cannot be kept: it ${excess}`);
  try {
    encodeChange(one);
  } catch (error) {
    throw lineError(number, `cannot be kept: ${reasonOf(error)}`);
  }
}

function noteHead(known: Map<string, string>, one: Change): void {
  const head = one.kind === "put" ? readHead(one.value) : undefined;
  if (head === undefined) known.delete(one.key);
  else known.set(one.key, head.auditId);
}

function lineError(number: number, message: string): StateFileError {
  return new StateFileError(`line ${number} ${message}`);
}

async function* linesOf(octets: AsyncIterable<Buffer>, lines: OctetLines): AsyncGenerator<Buffer> {
  for await (const chunk of octets) yield* lines.take(chunk);
}

/** True if a text is valid as an entry's key, as it is for a chain head. */
function isName(text: string): boolean {
  try {
    checkName("key", text);
    return true;
  } catch {
    return false;
  }
}

interface LinkedRecord {
  readonly agentId: string;
  readonly auditId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
}

/** The facts to check records against. */
interface KnownLinks {
  /** By agent, the record that must appear if the file has any record of the agent. */
  readonly heads: ReadonlyMap<string, string>;
  /** False if the oldest records may have been removed. */
  readonly isWhole: boolean;
}

/** The most missing records kept. */
const MAX_HOLES = 10_000;

/**
 * Checks in one pass that consecutive records form chains, each after the record it names, with one Audit-ID per
 * agent in memory. Records that a repair has written off may be missing.   AGTP-IDENTIFIERS "Attribution Chain"
 */
class ChainLinks {
  readonly #isWhole: boolean;
  readonly #heads = new Map<string, string>();
  /** Known heads that have not appeared yet. */
  readonly #expected: Map<string, string>;
  /** Faults by the Audit-ID that is missing where it is named. */
  readonly #holes = new Map<string, string>();

  constructor({ heads, isWhole }: KnownLinks) {
    this.#expected = new Map(heads);
    this.#isWhole = isWhole;
  }

  get chains(): number {
    return this.#heads.size;
  }

  /** Adds the next record; undefined if it is invalid. `place` begins any message about it. */
  add(jws: string, place: string): LinkedRecord | undefined {
    const record = readChainRecord(jws);
    if (record === undefined || !isName(record.agentId) || /\0/.test(record.method)) {
      return undefined;
    }
    const { agentId, at, method, previous, isEvent } = record;
    const auditId = hash("sha256", jws);
    const before = this.#heads.get(agentId) ?? (this.#isWhole ? NO_AUDIT_ID : previous);
    // A chain with nothing left begins anew.
    if (previous !== before && previous !== NO_AUDIT_ID && this.#holes.size < MAX_HOLES) {
      const said = `record ${auditId} of agent ${agentId} follows record ${previous}, which is not the one before it`;
      this.#holes.set(previous, `${place} ${said}`);
    }
    if (isEvent && this.#holes.size > 0) this.#writeOff(jws);
    this.#heads.set(agentId, auditId);
    if (this.#expected.get(agentId) === auditId) this.#expected.delete(agentId);
    return { agentId, auditId, at, method };
  }

  /** Returns the fault of a missing record, if any. */
  fault(): string | undefined {
    for (const said of this.#holes.values()) return said;
    for (const [agentId, auditId] of this.#expected) {
      if (!this.#heads.has(agentId) && !this.#isWhole) continue;
      return `record ${auditId} of agent ${agentId} is missing, which is known to have been in its chain`;
    }
    return undefined;
  }

  #writeOff(jws: string): void {
    const payload = decodeJws(jws)?.payload;
    const lost = payload?.["event_type"] === "chain-repaired" ? payload["lost_records"] : [];
    if (Array.isArray(lost)) for (const auditId of lost) this.#holes.delete(String(auditId));
  }
}
