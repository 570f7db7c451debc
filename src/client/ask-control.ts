/** Asks a daemon on this machine over its control socket: a line each way. */
import { connect } from "node:net";
import { socketAddress } from "../base/socket-address.ts";

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
