/**
 * A completion that arrives as server-sent events: `data:` lines with pieces of it, until `[DONE]`.
 * Comments and other fields are passed over.   WHATWG "Server-sent events"
 */
import { StringDecoder } from "node:string_decoder";
import { parseBoundedJson } from "../../../identity/json-document.ts";
import { isRecord } from "../../../json-value.ts";
import {
  type Completion,
  CompletionBuilder,
  CompletionFault,
  type CompletionListener,
  MAX_ANSWER_BYTES,
  tooLong,
} from "./completion.ts";

/** Each piece is wrapped in a few hundred octets of JSON. */
const MAX_STREAM_BYTES = 16 * MAX_ANSWER_BYTES;

/** Reads a stream to its end; one that ends before the model says so was cut. */
export async function readCompletionStream(
  body: AsyncIterable<Uint8Array>,
  listener: CompletionListener,
): Promise<Completion> {
  const builder = new CompletionBuilder(listener);
  let said = 0;
  for await (const data of eventData(body)) {
    if (data === "[DONE]") return builder.build();
    const parsed = parseBoundedJson(data);
    if (parsed.fault !== undefined || !isRecord(parsed.value)) {
      throw new CompletionFault("an event of the model's stream is not JSON");
    }
    if (isRecord(parsed.value["error"])) {
      throw new CompletionFault("the model's stream ended in an error");
    }
    said += data.length;
    if (said > MAX_STREAM_BYTES) throw tooLong();
    await builder.add(parsed.value, "delta");
  }
  if (builder.isFinished) return builder.build();
  throw new Error("the model's stream was cut");
}

/** The data of each event, its lines joined. */
async function* eventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let lines: string[] = [];
  for await (const line of readLines(body)) {
    if (line.startsWith("data:")) lines.push(line.slice(line[5] === " " ? 6 : 5));
    else if (line === "" && lines.length > 0) {
      yield lines.join("\n");
      lines = [];
    }
  }
  if (lines.length > 0) yield lines.join("\n");
}

async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_STREAM_BYTES) throw tooLong();
    const lines = decoder.write(Buffer.from(chunk)).split("\n");
    lines[0] = rest + (lines[0] ?? "");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_ANSWER_BYTES) throw tooLong();
    for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
  }
  if (rest !== "") yield rest;
}
