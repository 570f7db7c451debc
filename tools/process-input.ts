/** The standard input of this process, as the programs take it: whole, or refused for its length. */
import { AgtpClientError } from "../src/client/client-error.ts";

const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/** All of standard input. */
export async function readInput(maxBytes: number = MAX_INPUT_BYTES): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) {
      throw new AgtpClientError("ERR_AGTP_REQUEST", `more than ${maxBytes} bytes of input`);
    }
  }
  return Buffer.concat(chunks).toString();
}
