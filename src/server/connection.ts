/**
 * One connection: bytes in, requests through the dispatcher one after another, replies out in the
 * same order. Requests that wait are bounded; beyond that the socket is no longer read. After a
 * framing fault the 400 is the last thing sent.   AGTP "Connection Lifetime"
 */
import type { TLSSocket } from "node:tls";
import type { LimitsConfig } from "../config/config.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import { Exchange, type Peer } from "../dispatch/exchange.ts";
import { isWireFault, type Request, type Response, type WireFault } from "../wire/message.ts";
import { RequestParser } from "../wire/request-parser.ts";
import { serializeResponses } from "../wire/serialize.ts";

/** What every connection of a listener shares. */
export interface ConnectionContext {
  readonly limits: LimitsConfig;
  /** The dispatcher in force; a reload swaps it between two requests. */
  dispatcher(): Dispatcher;
  onFault(error: unknown): void;
}

/** How long a peer may take to close after the last reply. */
const LINGER_MS = 2_000;

type State = "open" | "closing" | "ended";

export class Connection {
  readonly #socket: TLSSocket;
  readonly #context: ConnectionContext;
  readonly #parser: RequestParser;
  readonly #peer: Peer;
  readonly #waiting: (Request | WireFault)[] = [];
  #running: Exchange | undefined;
  #replies: Response[] = [];
  #isFlushScheduled = false;
  #isBlocked = false;
  #isPaused = false;
  #state: State = "open";
  /** When the phase that a deadline applies to began. */
  #phase: "idle" | "head" | "body" | "failed" = "idle";
  #phaseSince: number;

  constructor(socket: TLSSocket, context: ConnectionContext) {
    this.#socket = socket;
    this.#context = context;
    this.#parser = new RequestParser(context.limits);
    this.#peer = { address: socket.remoteAddress ?? "", port: socket.remotePort ?? 0 };
    this.#phaseSince = performance.now();
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("drain", () => this.#unblock());
    socket.on("end", () => this.#peerEnded());
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#closed());
  }

  #receive(chunk: Buffer): void {
    if (this.#state !== "open") return;
    this.#parser.push(chunk);
    this.#work();
    this.#flush();
  }

  /** Parses ahead as far as allowed, and answers one request after another. */
  #work(): void {
    this.#parse();
    while (this.#running === undefined && !this.#isBlocked) {
      const message = this.#waiting.shift();
      if (message === undefined) break;
      this.#answer(message);
      this.#parse();
    }
    if (this.#isPaused && !this.#isFull()) this.#resume();
  }

  #isFull(): boolean {
    const running = this.#running === undefined ? 0 : 1;
    return this.#isBlocked || this.#waiting.length + running >= this.#context.limits.maxPipelined;
  }

  #parse(): void {
    while (this.#state === "open" && !this.#isFull()) {
      const message = this.#parser.next();
      if (message === undefined) break;
      this.#waiting.push(message);
      this.#phase = "idle";
      if (isWireFault(message)) this.#stopReading();
    }
    this.#trackPhase();
    if (this.#isFull() && !this.#isPaused) {
      this.#isPaused = true;
      this.#socket.pause();
    }
  }

  #resume(): void {
    this.#isPaused = false;
    if (this.#state === "open") this.#socket.resume();
  }

  /** Nothing after this point is read: the connection ends once everything is answered. */
  #stopReading(): void {
    if (this.#state === "open") this.#state = "closing";
    // Discards what still comes in, so that the peer's close is seen.
    this.#socket.resume();
  }

  #trackPhase(): void {
    const { phase } = this.#parser;
    if (phase === this.#phase && phase !== "idle") return;
    this.#phase = phase;
    this.#phaseSince = performance.now();
  }

  #answer(message: Request | WireFault): void {
    const dispatcher = this.#context.dispatcher();
    if (isWireFault(message)) {
      this.#reply(dispatcher.answerFault(message));
      return;
    }
    const exchange = new Exchange(message, this.#peer, performance.now());
    const response = dispatcher.answer(exchange);
    if (!(response instanceof Promise)) {
      this.#reply(response);
      return;
    }
    this.#running = exchange;
    response.then(
      (settled) => this.#settled(settled),
      (error: unknown) => {
        this.#context.onFault(error);
        this.#socket.destroy();
      },
    );
  }

  #settled(response: Response): void {
    this.#running = undefined;
    this.#reply(response);
    this.#work();
    if (this.#isFlushScheduled) return;
    // Ticks run after all settled promises: what was pipelined leaves in one write.
    this.#isFlushScheduled = true;
    process.nextTick(() => {
      this.#isFlushScheduled = false;
      this.#flush();
    });
  }

  #reply(response: Response): void {
    this.#replies.push(response);
    // A peer that does not read must not make replies pile up.
    if (this.#replies.length >= this.#context.limits.maxPipelined) this.#flush();
  }

  #flush(): void {
    if (this.#replies.length > 0 && !this.#socket.destroyed) {
      const replies = this.#replies;
      this.#replies = [];
      if (!this.#socket.write(serializeResponses(replies))) this.#block();
    }
    this.#endWhenDone();
  }

  #block(): void {
    this.#isBlocked = true;
    this.#phaseSince = performance.now();
  }

  #unblock(): void {
    this.#isBlocked = false;
    this.#work();
    this.#flush();
  }

  #isQuiet(): boolean {
    return this.#running === undefined && this.#waiting.length === 0 && this.#replies.length === 0;
  }

  #endWhenDone(): void {
    if (this.#state !== "closing" || !this.#isQuiet()) return;
    this.#state = "ended";
    this.#phaseSince = performance.now();
    this.#socket.end();
  }

  /**
   * A peer that ends its side has left: what runs is aborted, what has not begun is not started.
   * A message cut short is still answered.
   */
  #peerEnded(): void {
    const fault = this.#state === "open" ? this.#parser.end() : undefined;
    this.#running?.abort(new Error("the caller left"));
    if (this.#state !== "ended") this.#state = "closing";
    if (this.#running !== undefined) this.#waiting.length = 0;
    if (fault !== undefined) this.#waiting.push(fault);
    this.#work();
    this.#flush();
  }

  #closed(): void {
    this.#state = "ended";
    this.#waiting.length = 0;
    this.#replies = [];
    this.#running?.abort(new Error("the caller left"));
  }

  /** Called from time to time: closes what has waited too long.   `[limits]` */
  sweep(now: number): void {
    const { limits } = this.#context;
    const elapsed = now - this.#phaseSince;
    if (this.#state === "ended") {
      if (elapsed > LINGER_MS) this.#socket.destroy();
    } else if (this.#isBlocked) {
      if (elapsed > limits.idleTimeoutMs) this.#socket.destroy();
    } else if (this.#state === "open" && this.#phase === "head") {
      if (elapsed > limits.headerTimeoutMs) this.#timeOut("header fields");
    } else if (this.#state === "open" && this.#phase === "body") {
      if (elapsed > limits.bodyTimeoutMs) this.#timeOut("body");
    } else if (this.#state === "open" && this.#isQuiet() && elapsed > limits.idleTimeoutMs) {
      this.drain();
    }
  }

  #timeOut(part: string): void {
    // While the socket is paused the peer cannot be blamed for what was not read.
    if (this.#isPaused) return;
    const message = `the ${part} did not arrive in time`;
    this.#waiting.push({ kind: "wire-fault", code: "request-timeout", message });
    this.#stopReading();
    this.#work();
    this.#flush();
  }

  /** Answers what was received, then closes. */
  drain(): void {
    this.#stopReading();
    this.#flush();
  }

  /** Ends what is still running, and the connection with it. */
  abort(reason: Error): void {
    this.#running?.abort(reason);
    this.#socket.destroy();
  }
}
