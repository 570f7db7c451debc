/**
 * Sends a command to a local daemon over its control socket: one line each way, and possibly octets after the
 * answer.
 */
import { connect, type Socket } from "node:net";
import { socketAddress } from "../base/addresses.ts";

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Returns the answer once the daemon has closed the connection; "" if it sent none. Rejects if no daemon listens. */
export async function askControl(path: string, line: string): Promise<string> {
  const { answer, rest } = await openControlLines(path, line);
  for await (const _ of rest);
  return answer;
}

/** Returns the first line of the answer, and the octets after it as they arrive. Rejects if no daemon listens. */
export async function openControlLines(
  path: string,
  line: string,
): Promise<{ readonly answer: string; readonly rest: AsyncIterable<Buffer> }> {
  const address = socketAddress(path);
  const socket = await new Promise<Socket>((resolve, reject) => {
    const connecting = connect(address, () => resolve(connecting));
    connecting.once("error", reject);
  });
  socket.write(`${line}\n`);
  const octets = socket[Symbol.asyncIterator]() as AsyncIterableIterator<Buffer>;
  let said = Buffer.alloc(0);
  let end = -1;
  while (end === -1) {
    const { value, done } = await octets.next();
    said = done === true ? said : Buffer.concat([said, value]);
    end = done === true ? said.length : said.indexOf("\n");
    if (end !== -1 || said.length <= MAX_ANSWER_BYTES) continue;
    socket.destroy();
    throw new Error("its answer is too long");
  }
  const answer = said.toString("utf8", 0, end);
  return { answer, rest: behind(said.subarray(end + 1), octets) };
}

async function* behind(first: Buffer, octets: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* octets;
}
