/**
 * Serves the protocol on two streams: the ready notification, then one answer after the other, in the
 * order of the requests. Ends when the input does; an output that nobody reads holds the input back.
 * agentcli protocol "Transport"
 */
import type { Readable, Writable } from "node:stream";
import { type Line, LineReader } from "../../../base/line-reader.ts";
import { READY_PARAMS } from "../methods/descriptions.ts";
import type { MethodContext } from "../methods/method.ts";
import { answerLine, MAX_LINE_BYTES, type ReportFault } from "./answer-line.ts";

/** Where to serve. */
export interface ServeOptions extends MethodContext {
  readonly input: Readable;
  readonly output: Writable;
  readonly report: ReportFault;
}

/** Resolves when the input has ended, or when nobody reads the output any more. */
export async function serveProtocol(options: ServeOptions): Promise<void> {
  const { input, report } = options;
  const output = new Lines(options.output);
  await output.write({ jsonrpc: "2.0", method: "agentcli.ready", params: READY_PARAMS });
  const reader = new LineReader(MAX_LINE_BYTES);
  const answer = async (lines: readonly Line[]): Promise<void> => {
    for (const line of lines) {
      const response = await answerLine(line, options, report);
      if (response !== undefined) await output.write(response);
    }
  };
  try {
    for await (const chunk of input) {
      await answer(reader.push(chunk as Buffer));
      if (output.isGone) return;
    }
  } catch (error) {
    // An input that breaks off has ended.
    report(error);
  }
  await answer(reader.end());
}

/** Writes one message a line, and waits for whoever reads them. */
class Lines {
  readonly #stream: Writable;
  #wake: () => void = () => undefined;
  isGone = false;

  constructor(stream: Writable) {
    this.#stream = stream;
    const end = (): void => {
      this.isGone = true;
      this.#wake();
    };
    stream.on("error", end).on("close", end);
    stream.on("drain", () => this.#wake());
  }

  async write(message: object): Promise<void> {
    if (this.isGone) return;
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    if (!this.#stream.write(`${JSON.stringify(message)}\n`)) await woken;
  }
}
