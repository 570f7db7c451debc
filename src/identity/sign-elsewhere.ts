/**
 * Signs what is long on a thread of its own: Ed25519 goes over the whole of it twice, and even its
 * asynchronous form copies it first, in one piece.   RFC 8032 §5.1.6
 */

import { type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** Less is signed sooner than a thread is made. */
const LONG = 1024 * 1024;

const PROGRAM = `
const { parentPort, workerData: { key, input } } = require("node:worker_threads");
parentPort.postMessage(require("node:crypto").sign(null, input, key));
`;

/** The signature in base64url. The input is given away: nobody else may look at it any more. */
export async function signElsewhere(key: KeyObject, input: Buffer): Promise<string> {
  if (input.length < LONG) return sign(null, input, key).toString("base64url");
  const worker = new Worker(PROGRAM, {
    eval: true,
    execArgv: [],
    workerData: { key, input },
    transferList: [input.buffer as ArrayBuffer],
  });
  const [signature] = (await once(worker, "message")) as [Uint8Array];
  return Buffer.from(signature).toString("base64url");
}
