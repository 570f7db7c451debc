/**
 * Listens to what an agent's server tells of a run while it is under way. Nothing depends on it: a
 * stream that is not there, breaks off, says nothing or never ends is all the same to the run.
 * Agent Connect Protocol "RunOutputStream"
 */
import { parseBoundedJson } from "../../../identity/json-document.ts";
import { isRecord } from "../../../json-value.ts";
import { type AcpResponse, isFailure } from "../acp/acp-call.ts";
import type { AcpClient } from "../acp/acp-client.ts";
import { EventStreamParser } from "../acp/event-stream.ts";
import type { RunEvent } from "./run.ts";

/** What is listened with. */
export interface StreamListener {
  readonly client: AcpClient;
  readonly runId: string;
  /** Ends the listening. */
  readonly signal: AbortSignal;
  /** How long the server may say nothing at all, keep-alives included. */
  readonly silenceMs: number;
  record(events: readonly RunEvent[]): Promise<void>;
}

const MAX_STREAM_BYTES = 16_777_216;

/** A stream that is listened to. Neither promise rejects. */
export interface RunStream {
  /** It has begun, or will not. */
  readonly opened: Promise<void>;
  /** Nothing more comes of it. */
  readonly ended: Promise<void>;
}

/** Listens from now on. */
export function openRunStream(listener: StreamListener): RunStream {
  const { client, runId, silenceMs, signal } = listener;
  const response = client.streamRun(runId, silenceMs, signal);
  const ended = response.then((open) => (isFailure(open) ? undefined : listen(open, listener)));
  const ignore = (): void => undefined;
  return { opened: response.then(ignore, ignore), ended: ended.then(ignore, ignore) };
}

async function listen({ body }: AcpResponse, { record, client }: StreamListener): Promise<void> {
  const parser = new EventStreamParser();
  const decoder = new TextDecoder("utf-8");
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    const frames = parser.push(decoder.decode(chunk, { stream: true }));
    const events = frames.flatMap(({ event, data }) => readEvent(event, client.shield(data)) ?? []);
    if (events.length > 0) await record(events);
    // Leaving the loop destroys the body, and the connection with it.
    if (parser.isOverlong || length > MAX_STREAM_BYTES) return;
  }
}

/** What a frame tells; how a run ended is found out by asking. */
function readEvent(name: string, data: string): RunEvent | undefined {
  const { value } = parseBoundedJson(data) as { readonly value?: unknown };
  if (!isRecord(value)) return undefined;
  const type = typeof value["type"] === "string" ? value["type"] : name;
  switch (type) {
    case "values":
      return { type, values: value["values"] ?? null };
    case "custom":
      return { type, update: value["update"] ?? null };
    default:
      return undefined;
  }
}
