/**
 * The receiving side of a connection: parses requests and queues them, up to `max_pipelined` including the one being
 * answered, or until their bodies reach the size limit of one. Tells which deadline the peer has missed. After the
 * last reply the socket stays open until the peer closes too: closing while the peer still sends could lose it the
 * reply. AGTP "Connection Lifetime", `[limits]`
 */

import type { Buffer } from "node:buffer";
import { performance } from "node:perf_hooks";
import type { TLSSocket } from "node:tls";
import { LONG_OCTETS } from "../base/json-bounds.ts";
import type { LimitsConfig } from "../wire/limits-section.ts";
import type { Request, WireFault } from "../wire/message.ts";
import { isWireFault } from "../wire/message-parser.ts";
import { RequestParser } from "../wire/request-parser.ts";

/** The waits that have a deadline. */
type Overdue = "idle" | "header fields" | "body";

/**
 * Taken entries to keep at the front of the array before it is shifted, which bounds its growth under constant load.
 */
const MAX_PASSED = 256;

/** Queued bodies may reach this size however small the limit for one body is, as they can arrive together. */
const LEAST_OCTETS = 64 * 1024;

/** The longest that a silent peer may take to close after the last reply. */
const LINGER_MS = 2_000;

/** One per connection. Reads nothing after a fault or `close`. */
export class Inbox {
  readonly #socket: TLSSocket;
  readonly #limits: LimitsConfig;
  readonly #parser: RequestParser;
  /** Entries from `#next` to `#end` are queued. Shifting the array would cost a call into V8 for each request. */
  readonly #waiting: (Request | WireFault | undefined)[] = [];
  #next = 0;
  #end = 0;
  /** Octets of the queued bodies. */
  #octets = 0;
  /** True if the last parse stopped at `maxPipelined`, so that more may be buffered. */
  #isBehind = false;
  #isAnswering = false;
  #isClosed = false;
  #phase: RequestParser["phase"] = "idle";
  /** Start of the phase; undefined: not before the last sweep. */
  #phaseSince: number | undefined;
  /** When this side stopped sending. */
  #lingersSince: number | undefined;
  #heardAt = 0;

  constructor(socket: TLSSocket, limits: LimitsConfig) {
    this.#socket = socket;
    this.#limits = limits;
    this.#parser = new RequestParser(limits);
  }

  /** True if nothing more may be read before a request is answered. */
  get isFull(): boolean {
    const count = this.#count();
    if (this.#octets >= Math.max(this.#limits.bodyBytes, LEAST_OCTETS)) return true;
    return count + (this.#isAnswering ? 1 : 0) >= this.#limits.maxPipelined;
  }

  /** True if no message is queued. */
  get isEmpty(): boolean {
    return this.#count() === 0;
  }

  /** True if the next message has a long body. */
  get isNextLong(): boolean {
    const message = this.#waiting[this.#next];
    return message !== undefined && octetsOf(message) > LONG_OCTETS;
  }

  /** A method, since a private getter costs a call into V8. */
  #count(): number {
    return this.#end - this.#next;
  }

  /** True if everything received is answered and nothing more is read. */
  get isAnswered(): boolean {
    return this.#isClosed && this.#isQuiet();
  }

  /** True once reading has ended, by a fault or `close`. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Parses octets; returns false if they are discarded, which only keeps the peer's close visible. */
  push(chunk: Buffer): boolean {
    if (this.#isClosed) {
      this.#hear();
      return false;
    }
    this.#parser.push(chunk);
    this.#parse(this.#limits.maxPipelined);
    this.#parser.detach();
    return true;
  }

  /** Takes the next message; `answered` frees its place. */
  take(): Request | WireFault | undefined {
    const message = this.#waiting[this.#next];
    this.#isAnswering = message !== undefined;
    if (message === undefined) return undefined;
    this.#waiting[this.#next] = undefined;
    this.#next += 1;
    this.#octets -= octetsOf(message);
    if (this.#next === this.#end) {
      this.#next = 0;
      this.#end = 0;
    }
    return message;
  }

  answered(): void {
    this.#isAnswering = false;
    if (this.#isBehind) this.#parse(this.#limits.maxPipelined);
    else this.#trackPhase();
  }

  #add(message: Request | WireFault): void {
    if (this.#next >= MAX_PASSED) {
      this.#waiting.splice(0, this.#next);
      this.#end -= this.#next;
      this.#next = 0;
    }
    this.#waiting[this.#end] = message;
    this.#end += 1;
    this.#octets += octetsOf(message);
  }

  /** Stops reading; queued requests are still answered. */
  close(fault?: WireFault): void {
    if (this.#isClosed) return;
    if (fault !== undefined) this.#add(fault);
    this.#isClosed = true;
  }

  /** Handles the end of stream: complete messages are answered, a truncated one is a fault. */
  end(): void {
    this.#parse(Number.POSITIVE_INFINITY);
    if (!this.#isClosed) this.close(this.#parser.end());
  }

  clear(): void {
    this.#waiting.length = 0;
    this.#next = 0;
    this.#end = 0;
    this.#octets = 0;
    this.#isClosed = true;
  }

  /** Restarts the deadline, since time without reading does not count against the peer. */
  restartClock(): void {
    this.#phaseSince = performance.now();
  }

  /** Returns the deadline that the peer has missed, if any. */
  overdue(now: number): Overdue | undefined {
    if (this.#isClosed) return undefined;
    this.#phaseSince ??= now;
    const elapsed = now - this.#phaseSince;
    const { headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs } = this.#limits;
    if (this.#phase === "head") return elapsed > headerTimeoutMs ? "header fields" : undefined;
    if (this.#phase === "body") return elapsed > bodyTimeoutMs ? "body" : undefined;
    return this.#isQuiet() && elapsed > idleTimeoutMs ? "idle" : undefined;
  }

  /** Ends this side, and gives the peer its time to end the other. */
  linger(): void {
    if (this.#lingersSince !== undefined) return;
    this.#hear();
    this.#lingersSince = this.#heardAt;
    // Called once the peer has read the last reply.
    this.#socket.end(() => this.#hear());
  }

  /** True once the peer's time to close is over; a peer that keeps sending gets the idle timeout. */
  isOver(now: number): boolean {
    if (this.#lingersSince === undefined) return false;
    // A socket that was reset while Node wrote a session ticket emits nothing further.
    const isSent = this.#socket.writableFinished || this.#socket.readableEnded;
    if (isSent && now - this.#heardAt > LINGER_MS) return true;
    return now - this.#lingersSince > this.#limits.idleTimeoutMs;
  }

  #isQuiet(): boolean {
    return !this.#isAnswering && this.#count() === 0;
  }

  #hear(): void {
    this.#heardAt = performance.now();
  }

  #parse(capacity: number): void {
    const taken = this.#isAnswering ? 1 : 0;
    this.#isBehind = true;
    while (!this.#isClosed && this.#count() + taken < capacity) {
      const message = this.#parser.next();
      if (message === undefined) {
        this.#isBehind = false;
        break;
      }
      this.#add(message);
      this.#phase = "idle";
      this.#isClosed = isWireFault(message);
    }
    this.#trackPhase();
  }

  /**
   * Starts a deadline with the first octet of a head or a body, or when the connection falls idle. Idling begins
   * after each request, too often to read the clock: the next sweep sets its time.
   */
  #trackPhase(): void {
    const { phase } = this.#parser;
    if (phase === this.#phase && phase !== "idle") return;
    this.#phase = phase;
    this.#phaseSince = phase === "idle" ? undefined : performance.now();
  }
}

function octetsOf(message: Request | WireFault): number {
  return isWireFault(message) ? 0 : message.body.length;
}
