/** The least cost of a record: one signature by what signs them, and what no record can do without. */

import { generateKeyPairSync, hash } from "node:crypto";
import { createEd25519Signer } from "../../src/state/records/sealer.ts";

const WARM_UP = 100;
const COUNT = 1_000;
/** About what the payload of a record has, and a body of the bench. */
const PAYLOAD = "a".repeat(700);
const BODY = "b".repeat(80);

/** Microseconds a signature. */
export function measureSignature(): number {
  const sign = createEd25519Signer(generateKeyPairSync("ed25519").privateKey);
  const input = Buffer.from(PAYLOAD.repeat(2));
  return micros(() => sign(input));
}

/** Microseconds for the hashes of two bodies, base64url, and the hash of the record itself. */
export function measureRecordPrimitives(): number {
  return micros(() => {
    hash("sha256", BODY);
    hash("sha256", BODY);
    hash("sha256", Buffer.from(PAYLOAD).toString("base64url"));
  });
}

function micros(work: () => unknown): number {
  for (let index = 0; index < WARM_UP; index += 1) work();
  const startedAt = performance.now();
  for (let index = 0; index < COUNT; index += 1) work();
  return ((performance.now() - startedAt) * 1000) / COUNT;
}
