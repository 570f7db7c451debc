/**
 * The peer's side of a connection: requests that wait, up to `max_pipelined` with the one being
 * answered, or until their bodies are as long as one may be, the beginning of the next, and the end.
 * Says since when a peer lets it wait for what. After the last reply the socket is kept until the
 * peer has closed as well: closing it on a peer that still sends would cost that peer the reply.
 * AGTP "Connection Lifetime", `[limits]`
 */

import type { Buffer } from "node:buffer";
import { performance } from "node:perf_hooks";
import type { TLSSocket } from "node:tls";
import { LONG_OCTETS } from "../base/json-bounds.ts";
import type { LimitsConfig } from "../wire/limits-section.ts";
import type { Request, WireFault } from "../wire/message.ts";
import { isWireFault } from "../wire/message-parser.ts";
import { RequestParser } from "../wire/request-parser.ts";

/** The kinds of waiting that have a deadline each. */
type Overdue = "idle" | "header fields" | "body";

/** So many that were taken keep their places: a peer that always has another waiting must not make it grow. */
const MAX_PASSED = 256;

/** Bodies of so many octets may wait however short one has to be: they arrived together. */
const LEAST_OCTETS = 64 * 1024;

/** The longest that a silent peer may take to close after the last reply. */
const LINGER_MS = 2_000;

/** One a connection. Nothing is read after a fault, or once it is closed. */
export class Inbox {
  readonly #socket: TLSSocket;
  readonly #limits: LimitsConfig;
  readonly #parser: RequestParser;
  /** Those from `#next` to `#end` wait. To shorten it would be a call into V8 with each request. */
  readonly #waiting: (Request | WireFault | undefined)[] = [];
  #next = 0;
  #end = 0;
  /** Octets of the bodies that wait. */
  #octets = 0;
  /** The last look at what was received ended with `maxPipelined`: there may be more. */
  #isBehind = false;
  #isAnswering = false;
  #isClosed = false;
  #phase: RequestParser["phase"] = "idle";
  /** Undefined: since the last sweep or later. */
  #phaseSince: number | undefined;
  /** Since when nothing more is sent. */
  #lingersSince: number | undefined;
  #heardAt = 0;

  constructor(socket: TLSSocket, limits: LimitsConfig) {
    this.#socket = socket;
    this.#limits = limits;
    this.#parser = new RequestParser(limits);
  }

  /** No more is wanted until something was answered. */
  get isFull(): boolean {
    const count = this.#count();
    if (this.#octets >= Math.max(this.#limits.bodyBytes, LEAST_OCTETS)) return true;
    return count + (this.#isAnswering ? 1 : 0) >= this.#limits.maxPipelined;
  }

  /** Nothing waits to be taken. */
  get isEmpty(): boolean {
    return this.#count() === 0;
  }

  /** The next message has a long body. */
  get isNextLong(): boolean {
    const message = this.#waiting[this.#next];
    return message !== undefined && octetsOf(message) > LONG_OCTETS;
  }

  /** A method, as a getter that is private is a call into V8. */
  #count(): number {
    return this.#end - this.#next;
  }

  /** All that was received is answered, and nothing more is read. */
  get isAnswered(): boolean {
    return this.#isClosed && this.#isQuiet();
  }

  /** Nothing more is read, because of a fault or because `close` was called. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Takes octets in; false: they are discarded, so that the peer's close is seen. */
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

  /** The next message to answer; `answered` makes room for another. */
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

  /** Stops reading; waiting requests are still answered. */
  close(fault?: WireFault): void {
    if (this.#isClosed) return;
    if (fault !== undefined) this.#add(fault);
    this.#isClosed = true;
  }

  /** The peer sends no more: what it completed is answered, and a message cut short is a fault. */
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

  /** The peer is not to blame for the time in which nothing was read. */
  restartClock(): void {
    this.#phaseSince = performance.now();
  }

  /** The deadline that the peer has missed, if any. */
  overdue(now: number): Overdue | undefined {
    if (this.#isClosed) return undefined;
    this.#phaseSince ??= now;
    const elapsed = now - this.#phaseSince;
    const { headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs } = this.#limits;
    if (this.#phase === "head") return elapsed > headerTimeoutMs ? "header fields" : undefined;
    if (this.#phase === "body") return elapsed > bodyTimeoutMs ? "body" : undefined;
    return this.#isQuiet() && elapsed > idleTimeoutMs ? "idle" : undefined;
  }

  /** Nothing more is sent: this side is ended, and the peer has its time to end its own. */
  linger(): void {
    if (this.#lingersSince !== undefined) return;
    this.#hear();
    this.#lingersSince = this.#heardAt;
    // Called when the peer has taken the last reply.
    this.#socket.end(() => this.#hear());
  }

  /** The peer has had its time; one that does not fall silent has that of an idle connection. */
  isOver(now: number): boolean {
    if (this.#lingersSince === undefined) return false;
    // A socket that was reset while Node wrote a session ticket never says more.
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
   * A deadline runs from the first octet of a head or a body, and from the last sign of life. The
   * latter comes with every request, and is not worth a look at the clock: a sweep finds it.
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
