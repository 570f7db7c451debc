/** Reads the state of a cluster: records and heads from its database, effects from their file. */
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { Database } from "./database.ts";
import { type Effect, isEnd, type RunEnd, type StoredRecord } from "./history.ts";

export function sha256Hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Reads every record; `signingKey` is their signing key in PEM. */
export async function readRecords(
  database: Database,
  signingKey: string,
): Promise<readonly StoredRecord[]> {
  const publicKey = createPublicKey(signingKey);
  const rows = await database.query("SELECT jws FROM agtp.records ORDER BY number");
  return rows.map(({ jws }) => readRecord(String(jws), publicKey));
}

/** The last record of each agent. */
export async function readHeads(database: Database): Promise<ReadonlyMap<string, string>> {
  const rows = await database.query("SELECT agent_id, audit_id FROM agtp.heads");
  return new Map(rows.map((row) => [String(row["agent_id"]), String(row["audit_id"])]));
}

/** The events that end runs, in order. */
export async function readRunEnds(database: Database): Promise<readonly RunEnd[]> {
  const rows = await database.query(
    `SELECT split_part(key, '/', 1) AS run, value::json->>'type' AS type,
      key = max(key) OVER (PARTITION BY split_part(key, '/', 1)) AS last
      FROM agtp.entries WHERE collection = 'openwop-run-events' ORDER BY key`,
  );
  return rows.flatMap(({ run, type, last }) => {
    const [subject, outcome] = String(type).split(".");
    if (subject !== "run" || !isEnd(outcome)) return [];
    return [{ run: String(run), outcome: String(outcome), isLast: last === true }];
  });
}

/** Reads the effects that handlers noted. */
export function readEffects(path: string): readonly Effect[] {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Effect]));
}

function readRecord(jws: string, publicKey: KeyObject): StoredRecord {
  const end = jws.lastIndexOf(".");
  const signature = Buffer.from(jws.slice(end + 1), "base64url");
  const [, payload = ""] = jws.split(".");
  const facts = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
  return {
    auditId: sha256Hex(jws),
    agent: String(facts.agent_id),
    previous: String(facts.previous_audit_id),
    requestId: String(facts.request_id ?? ""),
    status: Number(facts.status ?? 0),
    isSigned: verify(null, Buffer.from(jws.slice(0, end), "ascii"), publicKey, signature),
  };
}
