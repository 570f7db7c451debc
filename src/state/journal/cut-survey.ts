/**
 * Reads segments that are about to be cut, chunk by chunk during operation, for their digests and the growth of each
 * chain in them.   AGTP-IDENTIFIERS "Audit Log"
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { basename, join } from "node:path";
import { isRecord } from "../../base/json-value.ts";
import { SpreadMap } from "../../base/spread-map.ts";
import { decodeJws } from "../../identity/jws.ts";
import { NO_AUDIT_ID } from "../records/record.ts";
import type { CutHead } from "./cut-heads.ts";
import type { CutSegment } from "./cut-record.ts";
import type { JournalRecord } from "./journal.ts";
import { readChainRecord } from "./journal-replay.ts";
import { readSegment, segmentName } from "./segment.ts";

/** A chain's growth within the segments. */
interface Growth extends Omit<CutHead, "sequence" | "agentId"> {
  /** The record that the first one here follows. */
  readonly follows: string;
  readonly count: number;
}

interface CutSurvey {
  readonly segments: readonly CutSegment[];
  /** By agent. */
  readonly chains: SpreadMap<Growth>;
}

/** The most chains in memory at once; further segments wait for the next cut. */
const MAX_CHAINS = 20_000;
/** The most segments in one checkpoint. */
const MAX_SEGMENTS = 64;

export interface SurveyedSegment {
  readonly file: string;
  /** Yields its records, in order. */
  read(): AsyncIterable<JournalRecord>;
  /** Returns its size and SHA-256, after it was read. */
  digest(): Promise<Pick<CutSegment, "bytes" | "sha256">>;
}

/** Describes a segment of a journal. */
export function journalSegment(directory: string, number: number): SurveyedSegment {
  const file = segmentName(number);
  return {
    file,
    read: () => readSegment(directory, number),
    digest: () => digestOf(join(directory, file)),
  };
}

/** Surveys segments, oldest first, as many as can be cut together. */
export async function surveySegments(sources: readonly SurveyedSegment[]): Promise<CutSurvey> {
  const segments: CutSegment[] = [];
  const chains = new SpreadMap<Growth>();
  for (const { file, read, digest } of sources.slice(0, MAX_SEGMENTS)) {
    let records = 0;
    for await (const { auditId, jws } of read()) {
      const record = readChainRecord(jws);
      if (record === undefined) throw new Error(`${file} holds something else than records`);
      records += 1;
      const { agentId, at, method, previous, isEvent } = record;
      const before = chains.get(agentId);
      const isHole = before !== undefined && previous !== before.auditId;
      const isStatus = isEvent && hasStatus(jws);
      chains.set(agentId, {
        ...{ auditId, at, method, count: (before?.count ?? 0) + 1 },
        follows: before?.follows ?? previous,
        missing: before?.missing ?? (isHole ? previous : undefined),
        statusEvent: isStatus ? jws : before?.statusEvent,
      });
    }
    segments.push({ file, records, ...(await digest()) });
    if (chains.size >= MAX_CHAINS) break;
  }
  return { segments, chains };
}

/**
 * Yields the heads after a cut: those of the previous cut, advanced by the survey. Takes chains out of the survey
 * one by one, since a copy of that many would block the event loop.
 */
export async function* headsAfter(
  before: AsyncIterable<CutHead> | readonly CutHead[],
  { chains }: CutSurvey,
): AsyncGenerator<CutHead> {
  for await (const head of before) {
    const growth = chains.get(head.agentId);
    chains.delete(head.agentId);
    yield growth === undefined ? head : grown(head, growth);
  }
  for (const [agentId, { follows, count, ...growth }] of chains.entries()) {
    const missing = follows === NO_AUDIT_ID ? growth.missing : follows;
    yield { ...growth, agentId, sequence: count, missing };
  }
}

function grown(head: CutHead, { follows, count, ...growth }: Growth): CutHead {
  const hole = follows === head.auditId ? growth.missing : follows;
  return {
    ...growth,
    agentId: head.agentId,
    sequence: head.sequence + count,
    missing: head.missing ?? hole,
    statusEvent: growth.statusEvent ?? head.statusEvent,
  };
}

/** Returns the size and SHA-256 of a file. */
export async function digestOf(path: string): Promise<Pick<CutSegment, "bytes" | "sha256">> {
  const digest = createHash("sha256");
  let bytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    digest.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: digest.digest("hex") };
}

/** Throws if a file in the archive differs from the one to be archived. */
export async function refuseAnother(path: string, sha256: string): Promise<void> {
  if ((await digestOf(path)).sha256 === sha256) return;
  throw new Error(`the archive has another ${basename(path)} already, which is not written over`);
}

function hasStatus(jws: string): boolean {
  const payload = decodeJws(jws)?.payload;
  return isRecord(payload) && typeof payload["new_status"] === "string";
}
