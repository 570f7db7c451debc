/**
 * Where every chain stood at a cut, a line of JSON each: the file is read and written line by line,
 * so that neither takes the loop for long nor memory for all chains.   AGTP-IDENTIFIERS "Audit Log"
 */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { given, isRecord, type JsonRecord, parseJson } from "../../base/json-value.ts";
import { OctetLines } from "../../base/line-reader.ts";
import type { CutHeadsFile } from "./cut-record.ts";
import { writeLines } from "./journal-disk.ts";

/** The last record of a chain that went with a cut, or with one before it. */
export interface CutHead {
  readonly agentId: string;
  readonly auditId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** So many records of the chain are gone. */
  readonly sequence: number;
  /** The record that should have stood before one that is gone, and did not. */
  readonly missing?: string | undefined;
  /** The last event that changed where the agent stands, as it was signed. */
  readonly statusEvent?: string | undefined;
}

const CHUNK = 64 * 1024;
/** Two signed records, the rest is short. */
const MAX_LINE = 2 * 1024 * 1024;

/** The name of the heads' file of a cut, by the last segment that is gone. */
export function headsName(through: number): string {
  return `${String(through).padStart(8, "0")}.heads`;
}

/** A file of heads that is not the one that was signed, or no such file. */
export class CutHeadsError extends Error {
  override readonly name = "CutHeadsError";
}

/**
 * The heads of a file, which is compared with its digest at the end.
 * @throws CutHeadsError where it is another, an error of the file system where it cannot be read.
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

/** Writes a file of heads in one piece, and resolves once it is on the disk; its name may not be. */
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

/** Removes the heads of earlier cuts, and those that were not written to the end. */
export async function removeOldHeads(directory: string, file: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (/^\d{8}\.heads(\.tmp)?$/.test(name) && name !== file) await rm(join(directory, name));
  }
}

/** A head as the file has it. */
export function cutHeadLine(head: CutHead): string {
  return `${JSON.stringify(cutHeadValue(head))}\n`;
}

/** A head as a value of JSON. */
export function cutHeadValue(head: CutHead): JsonRecord {
  const { agentId, auditId, at, method, sequence, missing, statusEvent } = head;
  return {
    ...{ agent_id: agentId, audit_id: auditId, at, method, sequence },
    ...given({ missing, status_event: statusEvent }),
  };
}

/** The head of such a value; undefined for what is none. */
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
