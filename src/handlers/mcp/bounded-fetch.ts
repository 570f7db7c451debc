/**
 * The way to an MCP server over HTTP: verified connections to that server alone, no redirects, messages
 * that are read up to a length, and no more of them than the loop can bear. A stream of events may last;
 * each event is a message.
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
/** An answer may be preceded by this many messages of the full length: its progress. */
const MESSAGES_IN_ANSWER = 16;

/** A message is longer than was agreed. */
class MessageTooLong extends Error {
  constructor(limit: number) {
    super(`the upstream's message is longer than ${limit} bytes`);
  }
}

const TOO_LONG = -32_097;
const TOO_LONG_TEXT = /^the upstream's message is longer than \d+ bytes$/;

/** Tells whether an error stands for such a message. */
export function isTooLong(error: unknown): error is Error {
  if (error instanceof MessageTooLong) return true;
  return (
    error instanceof ProtocolError && error.code === TOO_LONG && TOO_LONG_TEXT.test(error.message)
  );
}

/** A request that no connection took: the server knows nothing of it. */
export class NeverSent extends TypeError {}

/** A message is compressed, though identity was asked for. */
export class MessageCompressed extends Error {
  constructor() {
    super("the upstream's message is compressed, though identity was asked for");
  }
}

/** A fetch from one server, and how to end its connections. */
interface BoundedFetch {
  readonly fetch: typeof globalThis.fetch;
  close(): Promise<void>;
}

/** Opens no connection before it is needed. */
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
      // Without the place that it names, which the library would go to.
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

/** Keeps interim responses from a fetch, which would wait for ever for the answer behind them. */
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

/** The failures of requests that no connection took. */
const neverSent = new WeakSet<Error>();

/** The failure of a fetch with its reason, which stands in its cause alone. */
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

/** The octets of a message, held back until it is known what parsing them will cost. */
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

  /** All of it, in the turn that it has for itself. Throws where it holds too much. */
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

/** One message, which is no list of them: a list would be worked off in one turn of the loop. */
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
 * Events that answer a request. Where they cannot be read on, the last one is an error in the place of its
 * answer, for which its call would wait on another stream.
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
          // The LF of a CR that ended a message: its reader waits for it.
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

/** The event that ends a request; undefined: it is none that is answered. */
function failureFor(request: unknown, failure: unknown): Buffer | undefined {
  const { id } = recordIn(typeof request === "string" ? parseJson(request) : undefined);
  if (id === undefined) return undefined;
  const isLong = failure instanceof MessageTooLong;
  const error = isLong ? { code: TOO_LONG, message: failure.message } : UNREADABLE;
  return Buffer.from(`data: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`);
}

interface EventBounds {
  /** The most events to find at once. */
  readonly events: number;
  /** The most octets of an event. */
  readonly octets: number;
  /** The octets of the first event that came before. */
  readonly held: number;
}

/** The place up to which octets hold no more events than asked for. */
interface FoundEnds {
  readonly at: number;
  readonly count: number;
  /** The number of octets before it that belong to no whole event. */
  readonly rest: number;
  /** True: the event behind it is whole, and too long. */
  readonly isLong: boolean;
}

/** Finds where events end: at an empty line, whose ends may be LF, CR or both, in pieces as they come. */
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

/** So many messages of a stream are read at once, and so many a second from there on. */
const AT_ONCE = 256;
const PER_SECOND = 200;
const PAUSE_MS = 50;

/** Reads a stream's messages no faster than that: small ones cost the loop far more than their octets. */
class MessagePace {
  #left = AT_ONCE;
  #refilledAt = performance.now();

  /** How many may be read now; waits until it is one. */
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
