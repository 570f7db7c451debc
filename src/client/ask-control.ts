/** Asks a daemon on this machine over its control socket: a line each way. */
import { connect, type Socket } from "node:net";
import { socketAddress } from "../base/addresses.ts";

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** The answer as text; "" where the daemon ended without one. Rejects where nobody listens. */
export async function askControl(path: string, line: string): Promise<string> {
  const address = socketAddress(path);
  return new Promise((resolve, reject) => {
    const socket = connect(address, () => socket.write(`${line}\n`));
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
      if (text.length > MAX_ANSWER_BYTES) socket.destroy(new Error("its answer is too long"));
    });
    socket.once("error", reject);
    socket.once("close", () => resolve(text));
  });
}

/** The first line of an answer, and the octets behind it as they come. Rejects where nobody listens. */
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
  const octets = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let first = Buffer.alloc(0);
  let end = -1;
  while (end === -1 && first.length <= MAX_ANSWER_BYTES) {
    const { value, done } = await octets.next();
    if (done === true) break;
    first = Buffer.concat([first, value]);
    end = first.indexOf("\n");
  }
  const answer = first.toString("utf8", 0, end === -1 ? first.length : end);
  return { answer, rest: behind(end === -1 ? Buffer.alloc(0) : first.subarray(end + 1), octets) };
}

async function* behind(first: Buffer, octets: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first;
  for (;;) {
    const { value, done } = await octets.next();
    if (done === true) return;
    yield value;
  }
}
