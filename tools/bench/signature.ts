/** The minimum cost of a record: one signature by the same signer, and the primitives that every record needs. */

import { generateKeyPairSync, hash } from "node:crypto";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createEd25519Signer } from "../../src/state/records/sealer.ts";
import { median } from "./measure.ts";

/** The time to compile the code, which takes several times as long before. */
const WARM_UP_MS = 30;
/** Several chunks, because garbage collection falls into some of them. */
const CHUNKS = 15;
const COUNT = 500;
/** About the length of a record's payload, and of a body in the benchmark. */
const PAYLOAD = "a".repeat(700);
const BODY = "b".repeat(80);

/** Microseconds per signature. */
export function measureSignature(): number {
  const sign = createEd25519Signer(generateKeyPairSync("ed25519").privateKey);
  const input = Buffer.from(PAYLOAD.repeat(2));
  return micros(() => sign(input));
}

/** The records of one turn with 16 connections and 16 requests in flight, which the journal appends at once. */
const TURN = 256;
const RECORD_OCTETS = 917;
/** The number of appends per chunk. */
const APPENDS = 8;

/**
 * Microseconds per record for the hashes of two bodies, base64url, the hash of the record itself,
 * and its share of one write to a file in the directory.
 */
export function measureRecordPrimitives(directory: string): number {
  const made = micros(() => {
    hash("sha256", BODY);
    hash("sha256", BODY);
    hash("sha256", Buffer.from(PAYLOAD).toString("base64url"));
  });
  return made + measureAppend(join(directory, "appended")) / TURN;
}

function measureAppend(file: string): number {
  const records = Buffer.alloc(TURN * RECORD_OCTETS, "r");
  const descriptor = openSync(file, "a");
  try {
    return micros(() => writeSync(descriptor, records), APPENDS);
  } finally {
    closeSync(descriptor);
    rmSync(file);
  }
}

/** The median of some chunks in CPU time, as servers are measured, which excludes other load on the machine. */
function micros(work: () => unknown, count = COUNT): number {
  for (const until = performance.now() + WARM_UP_MS; performance.now() < until; ) work();
  const chunks = Array.from({ length: CHUNKS }, () => {
    const before = process.cpuUsage();
    for (let index = 0; index < count; index += 1) work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / count;
  });
  return median(chunks);
}
