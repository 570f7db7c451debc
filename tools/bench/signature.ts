/** The least cost of a record: one signature by what signs them, and what no record can do without. */

import { generateKeyPairSync, hash } from "node:crypto";
import { createEd25519Signer } from "../../src/state/records/sealer.ts";
import { median } from "./measure.ts";

/** Code that is not compiled yet takes several times as long. */
const WARM_UP_MS = 30;
/** The collector of garbage runs in some of them. */
const CHUNKS = 15;
const COUNT = 500;
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

/** The median of some chunks, in CPU time as servers are measured: what the machine does meanwhile does not count. */
function micros(work: () => unknown): number {
  for (const until = performance.now() + WARM_UP_MS; performance.now() < until; ) work();
  const chunks = Array.from({ length: CHUNKS }, () => {
    const before = process.cpuUsage();
    for (let index = 0; index < COUNT; index += 1) work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / COUNT;
  });
  return median(chunks);
}
