/** Chains of Attribution-Records, as a server makes them and as somebody might forge them. */

import { generateKeyPairSync, hash, type KeyObject } from "node:crypto";
import { type Ed25519PublicKey, publicKeyOf } from "../../src/identity/ed25519.ts";
import { NO_AUDIT_ID } from "../../src/state/records/record.ts";
import { createRecordSigner } from "../../src/state/records/sealer.ts";

interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: Ed25519PublicKey;
}

export interface ChainedRecord {
  readonly auditId: string;
  readonly jws: string;
}

interface ChainOptions {
  readonly agentId: string;
  /** Without one, records are unsigned. */
  readonly key?: KeyObject | undefined;
  readonly length: number;
  /** What the first record follows. */
  readonly after?: string;
  /** Changes the payload of a record, counted from 0. */
  readonly change?: (payload: Record<string, unknown>, index: number) => Record<string, unknown>;
}

export const AGENT: string = "a1".repeat(32);
export const OTHER_AGENT: string = "b2".repeat(32);

export function makeKeyPair(): KeyPair {
  const { privateKey } = generateKeyPairSync("ed25519");
  const publicKey = publicKeyOf(privateKey);
  if (publicKey === undefined) throw new Error("no Ed25519 key");
  return { privateKey, publicKey };
}

/** A chain, the oldest record first; one record a second. */
export function makeChain(options: ChainOptions): readonly ChainedRecord[] {
  const { agentId, key, length, after = NO_AUDIT_ID, change = (payload) => payload } = options;
  const signer = createRecordSigner(key);
  const records: ChainedRecord[] = [];
  for (let index = 0; index < length; index += 1) {
    const payload = {
      audit_record_version: "1",
      agent_id: agentId,
      previous_audit_id: records.at(-1)?.auditId ?? after,
      issued_at: new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString(),
      method: "QUERY",
      path: `/rooms/${index}`,
      status: 200,
    };
    const jws = signer.sign(JSON.stringify(change(payload, index)));
    records.push({ auditId: hash("sha256", jws), jws });
  }
  return records;
}

/** The same record with another payload, under the signature that it had. */
export function alterRecord(
  { jws }: ChainedRecord,
  change: (payload: Record<string, unknown>) => Record<string, unknown>,
): ChainedRecord {
  const [header = "", payload = "", signature = ""] = jws.split(".");
  const changed = change(JSON.parse(Buffer.from(payload, "base64url").toString()));
  const encoded = Buffer.from(JSON.stringify(changed)).toString("base64url");
  const altered = `${header}.${encoded}.${signature}`;
  return { auditId: hash("sha256", altered), jws: altered };
}
