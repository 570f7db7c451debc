/**
 * Measures the cost of one Ed25519 signature here: the least that a signed response can cost more.
 */
import { generateKeyPairSync, sign } from "node:crypto";

const WARM_UP = 100;
const COUNT = 1_000;
/** About what a record's signing input has. */
const OCTETS = 1_000;

/** Microseconds a signature. */
export function measureSignature(): number {
  const { privateKey } = generateKeyPairSync("ed25519");
  const input = Buffer.alloc(OCTETS, "a");
  for (let index = 0; index < WARM_UP; index += 1) sign(null, input, privateKey);
  const startedAt = performance.now();
  for (let index = 0; index < COUNT; index += 1) sign(null, input, privateKey);
  return ((performance.now() - startedAt) * 1000) / COUNT;
}
