/**
 * One connection: bytes in, requests through the dispatcher one after another, replies out in the
 * same order. While the inbox is full or the peer does not read, the socket is not read either.
 * After a framing fault the 400 is the last thing sent.   AGTP "Connection Lifetime"
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

/** The parts that every connection of a listener shares. */
interface ConnectionContext {
  /** Those in force; a connection keeps what it began with. */
  limits: LimitsConfig;
  /** The one in force; a reload swaps it between two requests. */
  dispatcher: Dispatcher;
  readonly batcher: WriteBatcher;
  readonly turns: RequestTurns;
  readonly sendBudget: SendBudget;
  readonly ledger: Recording;
  onFault(error: unknown): void;
  onClose(connection: Connection): void;
}

/** Turns of the loop, which the connections of a listener share. */
interface RequestTurns {
  /** Requests that were pipelined are answered in these, one connection after the other. */
  readonly pipelined: LoopTurns;
  /** The first that each connection waits for. */
  readonly first: LoopTurns;
  /** The same of those whose last requests took long: only others of them wait for them. */
  readonly firstOfSlow: LoopTurns;
}

/** One may have met the collector of garbage. */
const SLOW = 2;

interface OtherEnd {
  readonly peer: Peer;
  readonly overhead: TlsOverhead;
  readonly writes: LostWrites;
}

/** Serves a socket whose handshake is done. */
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
  /** Answers leave at the end of the turn, or once their records are kept. */
  #isBatched = false;
  #isPaused = false;
  /** It has had its share of this round of the event loop, or others have. */
  #isWaitingItsTurn = false;
  #hasTurn = false;
  #hasLongTurn = false;
  /** So many requests in a row took so long that others noticed. */
  #slow = 0;
  /** Requests since the last sweep. */
  #requests = 0;
  /** When something was answered last, as of `performance.now()`. */
  #workedAt = 0;

  /** Listens to the socket once for each event: what else has to hear of it is told from here. */
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

  /** Answers what can be answered, and has it sent. */
  #proceed(): void {
    this.#work();
    this.#throttle();
    if (this.#isBatched) return;
    if (!this.#outbox.isEmpty) {
      this.#isBatched = true;
      // The first reply leaves in one write with the tickets that end the handshake.
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
      // Each has an answer in a turn, however many have pipelined more, where these are not long.
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

  /** Gives way after a share of pipelined requests, so that nobody else is held up. */
  #yield(): void {
    this.#isWaitingItsTurn = true;
    setImmediate(() => {
      this.#isWaitingItsTurn = false;
      if (!this.#socket.destroyed) this.#proceed();
    });
  }

  /** False: others have had the share of this turn of the loop, and it waits for its own. */
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

  /** False: another connection has begun what is long in this turn of the loop, and it waits for its own. */
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

  /** Answers with when that was done, as of `performance.now()`. */
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

  /** Sends the replies of this turn; those that come meanwhile wait for records of their own. */
  writeBatch(): void {
    this.#isUnanswered = false;
    onceRecorded(this.#context.ledger, this.#outbox.takeBatch(), (leaving) => {
      this.#isBatched = false;
      this.#outbox.flush(leaving);
      this.#proceed();
    });
  }

  /** Reads only what there is room for; a connection that will close is read to its end. */
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
   * A peer that ends its side has left: a handler that runs is aborted, and nothing behind it is begun. Where
   * none runs, what was read is answered, a message that is cut short too.
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

  /** Called from time to time: closes what has waited too long.   `[limits]` */
  sweep(now: number): void {
    const isExcessive = this.#overhead.isExcessive(this.#requests);
    this.#requests = 0;
    if (isExcessive) this.abort(new Error("the caller only updates its keys"));
    else if (this.#writes.areLost()) this.abort(new Error("the caller has reset the connection"));
    else if (this.#inbox.isOver(now)) this.#socket.destroy();
    // A peer that is not read cannot be late.
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

  /** Answers what was received, then closes. */
  drain(): void {
    this.#inbox.close();
    this.#proceed();
  }

  /** Ends what is still running, and the connection with it. */
  abort(reason: Error): void {
    this.#running?.abort(reason);
    // The socket closes in a later turn: nothing more is begun for it.
    this.#inbox.clear();
    this.#socket.destroy();
  }
}
