/**
 * One connection: parses requests, dispatches them one after another, and writes the replies in the same order. The
 * socket is not read while the inbox is full or the peer does not read. After a framing fault, the 400 is the last
 * reply.   AGTP "Connection Lifetime"
 */

import { performance } from "node:perf_hooks";
import type { TLSSocket } from "node:tls";
import { LONG_TURNS, type LoopTurns } from "../base/loop-turns.ts";
import type { Peer } from "../dispatch/caller/peer.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import { Exchange } from "../dispatch/exchange.ts";
import { onceRecorded, type Recording } from "../dispatch/recorded.ts";
import type { LimitsConfig } from "../wire/limits-section.ts";
import type { Request, Response, WireFault } from "../wire/message.ts";
import { isWireFault } from "../wire/message-parser.ts";
import type { SendBudget, TlsOverhead } from "./connection-limits.ts";
import { Inbox } from "./inbox.ts";
import { type LostWrites, readShared, releaseSocket } from "./node-sockets.ts";
import { type BatchedWriter, Outbox, type WriteBatcher } from "./outbox.ts";

/** Shared by the connections of a listener. */
interface ConnectionContext {
  /** The current limits; a connection keeps those it started with. */
  limits: LimitsConfig;
  /** The current dispatcher; a reload swaps it between two requests. */
  dispatcher: Dispatcher;
  readonly batcher: WriteBatcher;
  readonly turns: RequestTurns;
  readonly sendBudget: SendBudget;
  readonly ledger: Recording;
  onFault(error: unknown): void;
  onClose(connection: Connection): void;
}

/** Event-loop budgets that the connections of a listener share. */
interface RequestTurns {
  /** The budget for pipelined requests, all connections together. */
  readonly pipelined: LoopTurns;
  /** The budget for the first request of each connection in a turn. */
  readonly first: LoopTurns;
  /** The same for connections whose last requests were slow, so that they delay only each other. */
  readonly firstOfSlow: LoopTurns;
}

/** Two in a row, since a single slow request may be due to garbage collection. */
const SLOW = 2;

interface OtherEnd {
  readonly peer: Peer;
  readonly overhead: TlsOverhead;
  readonly writes: LostWrites;
}

/** Serves a socket after its TLS handshake. */
export class Connection implements BatchedWriter {
  readonly #socket: TLSSocket;
  readonly #context: ConnectionContext;
  readonly #inbox: Inbox;
  readonly #outbox: Outbox;
  readonly #peer: Peer;
  readonly #overhead: TlsOverhead;
  readonly #writes: LostWrites;
  #running: Exchange | undefined;
  #isNew = true;
  #isUnanswered = true;
  /** True while replies wait for the end of the turn, or for their records. */
  #isBatched = false;
  #isPaused = false;
  /** True while the connection waits for its next turn of the event loop. */
  #isWaitingItsTurn = false;
  #hasTurn = false;
  #hasLongTurn = false;
  /** Consecutive requests slow enough to delay others. */
  #slow = 0;
  /** Requests since the last sweep. */
  #requests = 0;
  /** When the last reply was ready, in milliseconds of `performance.now()`. */
  #workedAt = 0;

  /** Adds one listener per socket event, and forwards from there. */
  constructor(socket: TLSSocket, context: ConnectionContext, other: OtherEnd) {
    this.#peer = other.peer;
    this.#overhead = other.overhead;
    this.#writes = other.writes;
    this.#socket = socket;
    this.#context = context;
    this.#inbox = new Inbox(socket, context.limits);
    const { sendBufferBytes } = context.limits;
    const account = context.sendBudget.open(() =>
      this.abort(new Error("the caller does not read")),
    );
    this.#outbox = new Outbox(socket, { account, sendBufferBytes });
    readShared(socket, (chunk) => {
      if (this.#inbox.push(chunk)) this.#proceed();
    });
    socket.on("drain", () => {
      this.#outbox.drained();
      this.#proceed();
    });
    socket.on("end", () => this.#peerEnded());
    socket.on("close", () => {
      this.#outbox.closed();
      this.#leave();
      context.onClose(this);
      releaseSocket(socket);
    });
  }

  /** Answers the requests that may be answered, and schedules their replies. */
  #proceed(): void {
    this.#work();
    this.#throttle();
    if (this.#isBatched) return;
    if (!this.#outbox.isEmpty) {
      this.#isBatched = true;
      // The first reply is written together with the session tickets at the end of the handshake.
      if (this.#isUnanswered) this.writeBatch();
      else this.#context.batcher.add(this, this.#workedAt);
    } else if (this.#inbox.isAnswered && this.#outbox.isWritten) this.#inbox.linger();
  }

  #work(): void {
    if (this.#isWaitingItsTurn || !this.#mayAnswer()) return;
    const { pipelined, first, firstOfSlow } = this.#context.turns;
    let now = performance.now();
    for (let isFirst = true; this.#mayAnswer(); isFirst = false) {
      if (!pipelined.begin(now) && !isFirst) {
        this.#yield();
        break;
      }
      // Each connection gets one request per turn, however many others pipeline, unless such first requests are long.
      if (isFirst && !this.#mayBegin(this.#slow >= SLOW ? firstOfSlow : first, now)) break;
      if (this.#inbox.isNextLong && !this.#mayBeginLong()) break;
      const message = this.#inbox.take();
      if (message === undefined) break;
      this.#hasLongTurn = false;
      now = this.#answer(message, now);
    }
    this.#workedAt = now;
  }

  #mayAnswer(): boolean {
    if (this.#inbox.isEmpty || this.#running !== undefined) return false;
    return !this.#outbox.isBlocked && !this.#outbox.isFull;
  }

  /** Yields after its share of pipelined requests, so that others are served. */
  #yield(): void {
    this.#isWaitingItsTurn = true;
    setImmediate(() => {
      this.#isWaitingItsTurn = false;
      if (!this.#socket.destroyed) this.#proceed();
    });
  }

  /** Returns false if this turn's budget is used up; the connection then waits for its next turn. */
  #mayBegin(turns: LoopTurns, now: number): boolean {
    if (this.#hasTurn || this.#hasLongTurn || turns.begin(now)) return true;
    this.#isWaitingItsTurn = true;
    turns.take(() => {
      this.#isWaitingItsTurn = false;
      this.#hasTurn = true;
      if (!this.#socket.destroyed) this.#proceed();
      this.#hasTurn = false;
    });
    return false;
  }

  /** Returns false if another connection runs a long request in this turn; the connection then waits for its own. */
  #mayBeginLong(): boolean {
    if (this.#hasLongTurn || LONG_TURNS.begin()) return true;
    this.#isWaitingItsTurn = true;
    LONG_TURNS.take(() => {
      this.#isWaitingItsTurn = false;
      this.#hasLongTurn = true;
      if (!this.#socket.destroyed) this.#proceed();
    });
    return false;
  }

  /** Answers a message; returns when the reply was ready, in milliseconds of `performance.now()`. */
  #answer(message: Request | WireFault, now: number): number {
    const { dispatcher } = this.#context;
    if (isWireFault(message)) {
      this.#reply(dispatcher.answerFault(message, this.#peer));
      return performance.now();
    }
    this.#requests += 1;
    const exchange = new Exchange(message, this.#peer, now);
    exchange.isFirst = this.#isNew;
    this.#isNew = false;
    const response = dispatcher.answer(exchange);
    if (response instanceof Promise) this.#await(exchange, response);
    else this.#reply(response);
    this.#slow = exchange.isNoticed ? this.#slow + 1 : 0;
    return exchange.endedAt ?? performance.now();
  }

  #await(exchange: Exchange, response: Promise<Response>): void {
    this.#running = exchange;
    response.then(
      (settled) => {
        this.#running = undefined;
        this.#workedAt = performance.now();
        this.#reply(settled);
        this.#proceed();
      },
      (error: unknown) => {
        this.#context.onFault(error);
        this.#socket.destroy();
      },
    );
  }

  #reply(response: Response): void {
    this.#outbox.add(response);
    this.#inbox.answered();
  }

  /** Writes the replies of this turn; later ones wait for their own records. */
  writeBatch(): void {
    this.#isUnanswered = false;
    onceRecorded(this.#context.ledger, this.#outbox.takeBatch(), (leaving) => {
      this.#isBatched = false;
      this.#outbox.flush(leaving);
      this.#proceed();
    });
  }

  /** Pauses reading while there is no room; a closing connection is read to its end. */
  #throttle(): void {
    const { isClosed, isFull } = this.#inbox;
    const isPaused = !isClosed && (isFull || this.#outbox.isBlocked);
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    if (isPaused) this.#socket.pause();
    else {
      this.#inbox.restartClock();
      this.#socket.resume();
    }
  }

  /**
   * Handles the peer's end of stream: a running handler is aborted and nothing queued is started. If none runs,
   * everything received is answered, and a truncated message gets its fault.
   */
  #peerEnded(): void {
    if (this.#running === undefined) this.#inbox.end();
    else this.#leave();
    this.#proceed();
  }

  #leave(): void {
    this.#running?.abort(new Error("the caller left"));
    this.#inbox.clear();
  }

  /** Closes the connection on a missed deadline or excess; called periodically.   `[limits]` */
  sweep(now: number): void {
    const isExcessive = this.#overhead.isExcessive(this.#requests);
    this.#requests = 0;
    if (isExcessive) this.abort(new Error("the caller only updates its keys"));
    else if (this.#writes.areLost()) this.abort(new Error("the caller has reset the connection"));
    else if (this.#inbox.isOver(now)) this.#socket.destroy();
    // While reading is paused, a missing octet is not the peer's fault.
    else if (!this.#isPaused) this.#checkDeadlines(now);
  }

  #checkDeadlines(now: number): void {
    const overdue = this.#inbox.overdue(now);
    if (overdue === undefined) return;
    if (overdue === "idle") this.#inbox.close();
    else {
      const message = `the ${overdue} did not arrive in time`;
      this.#inbox.close({ kind: "wire-fault", code: "request-timeout", message });
    }
    this.#proceed();
  }

  /** Answers everything received, then closes. */
  drain(): void {
    this.#inbox.close();
    this.#proceed();
  }

  /** Aborts the running request, and the connection with it. */
  abort(reason: Error): void {
    this.#running?.abort(reason);
    // The socket closes in a later turn; queued requests must not start before.
    this.#inbox.clear();
    this.#socket.destroy();
  }
}
