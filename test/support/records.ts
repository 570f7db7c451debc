/**
 * Attribution-Records as somebody outside reads them: taken apart, hashed and verified with none of
 * the code that made them.
 */
import { createHash, type KeyObject, verify } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HeaderFields } from "../../src/wire/fields.ts";

/** The payload of a record. */
export type Payload = Readonly<Record<string, unknown>>;

/** A record on its own. */
export interface ReadRecord {
  readonly jws: string;
  readonly auditId: string;
  readonly header: Payload;
  readonly payload: Payload;
}

export const FIRST_PREVIOUS: string = "0".repeat(64);

/** SHA-256 in hex. */
export function sha256(octets: string | Uint8Array): string {
  return createHash("sha256").update(octets).digest("hex");
}

/** Takes a compact JWS apart. */
export function readJws(jws: string): ReadRecord {
  const [header = "", payload = ""] = jws.split(".");
  const decode = (part: string): Payload => JSON.parse(Buffer.from(part, "base64url").toString());
  return { jws, auditId: sha256(jws), header: decode(header), payload: decode(payload) };
}

/** The record that a response carries. */
export function recordOf({ headers }: { readonly headers: HeaderFields }): ReadRecord {
  const jws = headers.get("attribution-record");
  if (jws === undefined) throw new Error("the response has no Attribution-Record");
  return readJws(jws);
}

/** The payload of the record that came with the result of a tool of MCP. */
export function recordIn(meta: unknown): Payload {
  const { "io.agtp/attribution-record": jws } = meta as Payload;
  return readJws(String(jws)).payload;
}

/** Whether an Ed25519 key signed it. */
export function isSigned(jws: string, publicKey: KeyObject): boolean {
  const end = jws.lastIndexOf(".");
  const signature = Buffer.from(jws.slice(end + 1), "base64url");
  return verify(null, Buffer.from(jws.slice(0, end), "ascii"), publicKey, signature);
}

/** Every record of a journal, in the order of its segments. */
export function readJournal(directory: string): readonly ReadRecord[] {
  const names = readdirSync(directory).filter((name) => name.endsWith(".jws"));
  return names.sort().flatMap((name) => {
    const lines = readFileSync(join(directory, name), "latin1").split("\n");
    return lines.slice(0, -1).map(readJws);
  });
}

/** The records of one agent from its first to its last; throws where they are no single chain. */
export function walkChain(records: readonly ReadRecord[], agentId: string): readonly ReadRecord[] {
  const own = records.filter(({ payload }) => payload["agent_id"] === agentId);
  const byPrevious = new Map<unknown, ReadRecord>();
  for (const record of own) {
    const previous = record.payload["previous_audit_id"];
    if (byPrevious.has(previous)) throw new Error(`two records follow ${String(previous)}`);
    byPrevious.set(previous, record);
  }
  const chain: ReadRecord[] = [];
  for (let at = byPrevious.get(FIRST_PREVIOUS); at !== undefined; at = byPrevious.get(at.auditId)) {
    chain.push(at);
  }
  if (chain.length !== own.length) {
    throw new Error(`the chain has ${chain.length} of ${own.length} records`);
  }
  return chain;
}

/** Takes the last lines of a file away. */
export function cutLines(path: string, count: number): void {
  const lines = readFileSync(path, "latin1").split(/(?<=\n)/);
  writeFileSync(path, lines.slice(0, -count).join(""));
}
