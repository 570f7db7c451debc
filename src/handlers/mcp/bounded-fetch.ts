/**
 * The HTTP connection to an MCP server: verified, to that server alone, without redirects; messages
 * are bounded in length and in rate, so that the event loop keeps up. An event stream may last;
 * each event is one message.
 */
import { setTimeout as pause } from "node:timers/promises";
import { ProtocolError } from "@modelcontextprotocol/client";
import { Agent, type Dispatcher, fetch as undiciFetch } from "undici";
import { ANSWER_BOUNDS, jsonExcess } from "../../base/json-bounds.ts";
import { parseJson, recordIn } from "../../base/json-value.ts";
import { reasonOf } from "../../base/thrown.ts";
import { connectionOptions, limitInterim } from "../connection-options.ts";
import { pacePieces, turnOfLong } from "../paced-answers.ts";
import { markAnswer, markEvents, UNREADABLE } from "./exact-results.ts";
import type { McpHttpPlace } from "./read-settings.ts";

const MAX_CONNECTIONS = 64;
const CONNECT_TIMEOUT_MS = 10_000;
/** A POST answer may be as long as this many messages of the full length: progress precedes it. */
const MESSAGES_IN_ANSWER = 16;

/** A message exceeds the length limit. */
class MessageTooLong extends Error {
  constructor(limit: number) {
    super(`the upstream's message is longer than ${limit} bytes`);
  }
}

const TOO_LONG = -32_097;
const TOO_LONG_TEXT = /^the upstream's message is longer than \d+ bytes$/;

/** Returns true if an error stands for such a message. */
export function isTooLong(error: unknown): error is Error {
  if (error instanceof MessageTooLong) return true;
  return (
    error instanceof ProtocolError && error.code === TOO_LONG && TOO_LONG_TEXT.test(error.message)
  );
}

/** A request that was never sent on a connection: the server did not receive it. */
export class NeverSent extends TypeError {}

/** A message is compressed, though `identity` was asked for. */
export class MessageCompressed extends Error {
  constructor() {
    super("the upstream's message is compressed, though identity was asked for");
  }
}

/** A fetch that is bound to one server, and the end of its connections. */
interface BoundedFetch {
  readonly fetch: typeof globalThis.fetch;
  close(): Promise<void>;
}

/** Creates the fetch; connections are opened on demand. */
export function createBoundedFetch({ ca }: McpHttpPlace, maxResponseBytes: number): BoundedFetch {
  const agent = new Agent(
    connectionOptions({
      ...{ connections: MAX_CONNECTIONS, connectTimeoutMs: CONNECT_TIMEOUT_MS },
      ca,
    }),
  );
  const dispatcher = agent.compose(
    pacePieces,
    (dispatch) => (options, handler) => dispatch(options, withoutInterim(handler)),
  );
  const fetchFrom = undiciFetch as unknown as typeof globalThis.fetch;
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("accept-encoding", "identity");
    const options = { ...init, headers, redirect: "manual", dispatcher } as unknown as RequestInit;
    const response = await fetchFrom(input, options).catch((error: unknown) => {
      throw withReason(error);
    });
    const { status, statusText, headers: fields } = response;
    if (status >= 300 && status < 400) {
      await response.body?.cancel();
      // Why no `Location`: the library would follow it.
      return new Response(REDIRECTS, { status, statusText });
    }
    if (response.body === null) return response;
    if (isCompressed(fields)) {
      await response.body.cancel();
      if (response.ok) throw new MessageCompressed();
      return new Response(null, { status, statusText, headers: fields });
    }
    const isStream = fields.get("content-type")?.startsWith("text/event-stream") === true;
    const isAnswer = init?.method === "POST";
    const all = isAnswer ? maxResponseBytes * MESSAGES_IN_ANSWER : Infinity;
    const bounded = isStream
      ? boundedEvents({ message: maxResponseBytes, all }, init?.body)
      : boundedMessage(maxResponseBytes);
    const body = response.body.pipeThrough(bounded);
    return new Response(body, { status, statusText, headers: fields });
  };
  return { fetch, close: (): Promise<void> => agent.destroy() };
}

const REDIRECTS = "the server redirects, which is not followed";

function isCompressed(fields: Headers): boolean {
  return (fields.get("content-encoding") ?? "identity").toLowerCase() !== "identity";
}

/** Hides interim responses from fetch, which would otherwise wait forever for the final one. */
function withoutInterim(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  const onInterim = limitInterim();
  let isSent = false;
  return {
    onRequestStart(...all) {
      isSent = true;
      handler.onRequestStart?.(...all);
    },
    onRequestUpgrade: (...all) => handler.onRequestUpgrade?.(...all),
    onResponseStart(controller, status, ...rest) {
      if (status < 200) onInterim();
      else handler.onResponseStart?.(controller, status, ...rest);
    },
    onResponseData: (...all) => handler.onResponseData?.(...all),
    onResponseEnd: (...all) => handler.onResponseEnd?.(...all),
    onResponseError(controller, error) {
      if (!isSent) neverSent.add(error);
      handler.onResponseError?.(controller, error);
    },
  };
}

/** The failures of requests that were never sent. */
const neverSent = new WeakSet<Error>();

/** Adds the reason to the message of a failed fetch, which only has it in its cause. */
function withReason(error: unknown): unknown {
  if (!(error instanceof TypeError) || !(error.cause instanceof Error)) return error;
  const { cause } = error;
  const [first] = cause instanceof AggregateError ? cause.errors : [cause];
  const Failure = neverSent.has(cause) ? NeverSent : TypeError;
  return new Failure(`${error.message}: ${reasonOf(first)}`, { cause });
}

type Bounding = TransformStream<Uint8Array, Uint8Array>;

const LF = 0x0a;
const CR = 0x0d;
/** Whitespace around JSON.   RFC 8259 §2 */
const BLANKS: readonly number[] = [0x09, LF, CR, 0x20];
const BRACKET = 0x5b;

/** The octets of a message, buffered until the cost of parsing them is known. */
class HeldMessage {
  #chunks: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  /** Takes the whole message, in a turn of its own if it is long. Throws if its JSON exceeds the bounds. */
  async take(): Promise<Buffer> {
    const octets = Buffer.concat(this.#chunks, this.#length);
    this.#chunks = [];
    this.#length = 0;
    await turnOfLong(octets.length);
    const excess = jsonExcess(octets, ANSWER_BOUNDS);
    if (excess !== undefined) throw new SyntaxError(`a message that ${excess}`);
    return octets;
  }
}

/** Passes one message, and refuses a batch, which would be processed in a single turn of the loop. */
function boundedMessage(most: number): Bounding {
  const held = new HeldMessage();
  let first: number | undefined;
  return new TransformStream({
    transform(chunk, controller) {
      held.push(chunk);
      first ??= chunk.find((octet) => !BLANKS.includes(octet));
      if (held.length > most) controller.error(new MessageTooLong(most));
      else if (first === BRACKET) controller.error(new SyntaxError("a list of messages"));
    },
    async flush(controller) {
      if (held.length > 0) controller.enqueue(markAnswer(await held.take()));
    },
  });
}

interface Bounds {
  readonly message: number;
  readonly all: number;
}

/**
 * Passes the events that answer a request. If they become unreadable, the last event is an error in
 * place of the answer; without it the call would wait on another stream.
 */
function boundedEvents({ message, all }: Bounds, request: unknown): Bounding {
  const events = new EventEnds();
  const pace = new MessagePace();
  const held = new HeldMessage();
  let total = 0;
  return new TransformStream({
    async transform(chunk, controller) {
      try {
        total += chunk.length;
        for (let from = 0; from < chunk.length; ) {
          const bounds = { events: await pace.some(), octets: message, held: held.length };
          const { at, count, rest, isLong } = events.find(chunk, from, bounds);
          pace.spend(count);
          const whole = chunk.subarray(from, at - rest);
          // Only the LF of a CR that ended a message remains: the reader expects it.
          const isEnd = count === 0 && held.length === 0;
          if (!isEnd) held.push(whole);
          else if (whole.length > 0) controller.enqueue(whole);
          if (count > 0) controller.enqueue(markEvents(await held.take()));
          held.push(chunk.subarray(at - rest, at));
          if (isLong || held.length > message || total > all) throw new MessageTooLong(message);
          from = at;
        }
      } catch (error) {
        const last = failureFor(request, error);
        if (last === undefined) throw error;
        controller.enqueue(last);
        controller.terminate();
      }
    },
    async flush(controller) {
      if (held.length > 0) controller.enqueue(await held.take());
    },
  });
}

/** The error event that ends the request; undefined if the request expects no answer. */
function failureFor(request: unknown, failure: unknown): Buffer | undefined {
  const { id } = recordIn(typeof request === "string" ? parseJson(request) : undefined);
  if (id === undefined) return undefined;
  const isLong = failure instanceof MessageTooLong;
  const error = isLong ? { code: TOO_LONG, message: failure.message } : UNREADABLE;
  return Buffer.from(`data: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`);
}

interface EventBounds {
  /** The maximum number of events to find. */
  readonly events: number;
  /** The maximum length of an event in octets. */
  readonly octets: number;
  /** The octets of the first event that are already buffered. */
  readonly held: number;
}

/** The offset up to which the octets hold at most the requested number of events. */
interface FoundEnds {
  readonly at: number;
  readonly count: number;
  /** The octets before `at` that belong to an incomplete event. */
  readonly rest: number;
  /** True if the next event is complete and too long. */
  readonly isLong: boolean;
}

/** Finds the ends of events, across chunks: an empty line, with LF, CR or CRLF as line end. */
class EventEnds {
  #isLineEmpty = true;
  #isAfterCr = false;

  find(octets: Uint8Array, from: number, bounds: EventBounds): FoundEnds {
    let count = 0;
    let last = from;
    let { held } = bounds;
    for (let at = from; at < octets.length; at += 1) {
      const octet = octets[at];
      const isOneEnd = octet === LF && this.#isAfterCr;
      this.#isAfterCr = octet === CR;
      if (isOneEnd && last === at) last = at + 1;
      if (isOneEnd) continue;
      const isEnd = octet === LF || octet === CR;
      const isEmpty = isEnd && this.#isLineEmpty;
      this.#isLineEmpty = isEnd;
      if (!isEmpty) continue;
      if (held + at + 1 - last > bounds.octets) return { at: last, count, rest: 0, isLong: true };
      held = 0;
      count += 1;
      last = at + 1;
      if (count < bounds.events) continue;
      const isHalf = octet === CR && octets[last] === LF;
      this.#isAfterCr &&= !isHalf;
      return { at: isHalf ? last + 1 : last, count, rest: 0, isLong: false };
    }
    return { at: octets.length, count, rest: octets.length - last, isLong: false };
  }
}

/** The burst of messages that a stream may have; PER_SECOND refills it. */
const AT_ONCE = 256;
const PER_SECOND = 200;
const PAUSE_MS = 50;

/** A token bucket for a stream's messages: small messages cost the loop far more than their octets. */
class MessagePace {
  #left = AT_ONCE;
  #refilledAt = performance.now();

  /** The number of messages that may be read now; waits until there is at least one. */
  async some(): Promise<number> {
    for (;;) {
      const now = performance.now();
      const more = ((now - this.#refilledAt) * PER_SECOND) / 1_000;
      this.#left = Math.min(AT_ONCE, this.#left + more);
      this.#refilledAt = now;
      if (this.#left >= 1) return Math.floor(this.#left);
      await pause(PAUSE_MS, undefined, { ref: false });
    }
  }

  spend(messages: number): void {
    this.#left -= messages;
  }
}
