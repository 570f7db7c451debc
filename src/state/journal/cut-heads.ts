/**
 * The chain heads of a cut, one line of JSON each, read and written line by line to spare the event loop and memory.
 * AGTP-IDENTIFIERS "Audit Log"
 */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { given, isRecord, type JsonRecord, parseJson } from "../../base/json-value.ts";
import { OctetLines } from "../../base/line-reader.ts";
import type { CutHeadsFile } from "./cut-record.ts";
import { writeLines } from "./journal-disk.ts";

/** The last record of a chain that was removed by a cut or an earlier one. */
export interface CutHead {
  readonly agentId: string;
  readonly auditId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** The number of the chain's removed records. */
  readonly sequence: number;
  /** The predecessor of a removed record, if it was missing already. */
  readonly missing?: string | undefined;
  /** The signed event that last changed the agent's status. */
  readonly statusEvent?: string | undefined;
}

const CHUNK = 64 * 1024;
/** Room for two signed records and short members. */
const MAX_LINE = 2 * 1024 * 1024;

/** Returns the name of a cut's heads file, by the last segment removed. */
export function headsName(through: number): string {
  return `${String(through).padStart(8, "0")}.heads`;
}

/** Thrown if a heads file is not the one that was signed, or malformed. */
export class CutHeadsError extends Error {
  override readonly name = "CutHeadsError";
}

/**
 * Yields the heads of a file, and compares its digest at the end.
 * @throws CutHeadsError if the file is another, or a file system error if it cannot be read
 */
export async function* readCutHeads(
  directory: string,
  { file, sha256 }: CutHeadsFile,
): AsyncGenerator<CutHead> {
  const digest = createHash("sha256");
  const lines = new OctetLines(MAX_LINE, () => new CutHeadsError(`${file} holds no lines`));
  const stream = createReadStream(join(directory, file), { highWaterMark: CHUNK });
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    digest.update(chunk);
    for (const line of lines.take(chunk)) {
      const head = readCutHead(parseJson(line.toString("utf8")));
      if (head === undefined) throw new CutHeadsError(`${file} holds something else than heads`);
      yield head;
    }
  }
  if (digest.digest("hex") === sha256) return;
  throw new CutHeadsError(`${file} is not the file that was signed with the cut`);
}

/** Writes a heads file atomically, and resolves once it is on the disk; its name may not be. */
export async function writeCutHeads(
  directory: string,
  file: string,
  heads: AsyncIterable<CutHead> | Iterable<CutHead>,
): Promise<CutHeadsFile> {
  const path = join(directory, file);
  const temporary = `${path}.tmp`;
  await rm(temporary, { force: true });
  let chains = 0;
  const lines = async function* (): AsyncGenerator<string> {
    for await (const head of heads) {
      chains += 1;
      yield cutHeadLine(head);
    }
  };
  const sha256 = await writeLines(temporary, "wx", lines());
  await rename(temporary, path);
  return { file, sha256, chains };
}

/** Removes the heads files of earlier cuts, and unfinished ones. */
export async function removeOldHeads(directory: string, file: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (/^\d{8}\.heads(\.tmp)?$/.test(name) && name !== file) await rm(join(directory, name));
  }
}

/** Returns the line of a head. */
export function cutHeadLine(head: CutHead): string {
  return `${JSON.stringify(cutHeadValue(head))}\n`;
}

/** Returns the JSON value of a head. */
export function cutHeadValue(head: CutHead): JsonRecord {
  const { agentId, auditId, at, method, sequence, missing, statusEvent } = head;
  return {
    ...{ agent_id: agentId, audit_id: auditId, at, method, sequence },
    ...given({ missing, status_event: statusEvent }),
  };
}

/** Reads a head from its JSON value; undefined if invalid. */
export function readCutHead(value: unknown): CutHead | undefined {
  if (!isRecord(value)) return undefined;
  const { agent_id: agentId, audit_id: auditId, at, method, sequence } = value;
  if (typeof agentId !== "string" || typeof auditId !== "string") return undefined;
  if (typeof at !== "number" || typeof sequence !== "number") return undefined;
  const { missing, status_event: statusEvent } = value;
  return {
    ...{ agentId, auditId, at, sequence, method: typeof method === "string" ? method : "" },
    ...(typeof missing === "string" ? { missing } : {}),
    ...(typeof statusEvent === "string" ? { statusEvent } : {}),
  };
}
