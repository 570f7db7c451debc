/**
 * The sealer that a server's key calls for. Unsigned records are sealed on the spot. A signature
 * costs more than all the rest of answering a request, so signed ones are sealed by a thread of
 * their own whenever there is more than a little to do, and a core for it.
 */
import type { KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { createSealer, type Sealer } from "./sealer.ts";
import type { RecordSigner } from "./signer.ts";
import { ThreadSealer } from "./thread-sealer.ts";

/** By the thread that answers, and by whoever asks. */
const CORES_TAKEN = 2;

/** A sealer for records of this signer. */
export function openSealer(signer: RecordSigner, key: KeyObject | undefined): Sealer {
  const script = new URL("./sealing-thread.js", import.meta.url);
  // A thread that shares the core with the others makes all of them slower.
  const isWorthwhile = key !== undefined && availableParallelism() > CORES_TAKEN;
  // A thread runs built code only; where the sources themselves run, there is none to start.
  if (!isWorthwhile || !existsSync(fileURLToPath(script))) return createSealer(signer);
  return new ThreadSealer({ script, signer, key });
}
