/**
 * One TLS connection that carries octets as they are given, for programs that try what a proper
 * client would never send. Whatever the peer does is an answer in words: it may stall, close, or send
 * what is no response, and each wait ends by its deadline.   AGTP "Wire Format"
 */

import type { TLSSocket } from "node:tls";
import type { ResponseLimits } from "../wire/fields.ts";
import { isWireFault } from "../wire/message-parser.ts";
import { type ReceivedResponse, ResponseParser } from "../wire/response-parser.ts";
import type { Peer } from "./agtp-client.ts";
import { connectionError, lateConnection, openSocket, pinFault } from "./connect.ts";

/** The outcome of waiting for a response. */
export type RawAnswer =
  | { readonly kind: "response"; readonly response: ReceivedResponse }
  /** No octet of a response, and no more will come. */
  | { readonly kind: "closed" }
  /** The peer sent no response, or stopped in the middle of one. */
  | { readonly kind: "garbage"; readonly message: string }
  /** The deadline passed; what had come so far is no whole response. */
  | { readonly kind: "silence"; readonly isPartial: boolean };

interface RawConnectionOptions {
  /** Milliseconds of `performance.now()`. */
  readonly deadline: number;
  readonly limits: ResponseLimits;
}

/** A connection, or why there is none: for people. */
type RawConnectionResult =
  | { readonly kind: "connection"; readonly connection: RawConnection }
  | { readonly kind: "unreachable"; readonly message: string };

/** Connects; throws ERR_AGTP_TLS for unusable PEM texts only. */
export function connectRaw(
  peer: Peer,
  { deadline, limits }: RawConnectionOptions,
): Promise<RawConnectionResult> {
  const socket = openSocket(peer);
  return new Promise((resolve) => {
    const end = (message: string): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ kind: "unreachable", message });
    };
    const wait = Math.max(0, deadline - performance.now());
    const timer = setTimeout(() => end(lateConnection(peer, Math.round(wait))), wait);
    let error: unknown;
    socket.on("error", (reason) => {
      error ??= reason;
    });
    const closed = (): void => end(connectionError(peer, error).message);
    socket.once("close", closed);
    socket.once("secureConnect", () => {
      const fault = pinFault(socket, peer);
      if (fault !== undefined) {
        end(fault);
        return;
      }
      clearTimeout(timer);
      socket.off("close", closed);
      resolve({ kind: "connection", connection: new RawConnection(socket, limits) });
    });
  });
}

/** A peer that answers this often without being asked is not listened to any longer. */
const MAX_UNREAD = 64;

/** An open connection; responses are taken in the order in which they came. */
export class RawConnection {
  readonly #socket: TLSSocket;
  readonly #parser: ResponseParser;
  readonly #answers: RawAnswer[] = [];
  #isOver = false;
  #wake: () => void = () => {};

  constructor(socket: TLSSocket, limits: ResponseLimits) {
    this.#socket = socket;
    this.#parser = new ResponseParser(limits);
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.once("close", () => this.#closed());
  }

  /** Tells whether an answer came that nobody has taken yet. */
  get hasUnread(): boolean {
    return this.#answers.length > 0;
  }

  /** Tells whether the peer may still answer. */
  get isOpen(): boolean {
    return !this.#isOver && !this.#socket.readableEnded && this.#socket.writable;
  }

  send(bytes: Uint8Array): void {
    if (!this.#isOver) this.#socket.write(bytes);
  }

  /** Ends this side; the peer may still answer. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** The next response, or what there is instead by the deadline. */
  async next(deadline: number): Promise<RawAnswer> {
    while (this.#answers.length === 0 && !this.#isOver) {
      if (!(await this.#event(deadline))) {
        return { kind: "silence", isPartial: this.#parser.phase !== "idle" };
      }
    }
    return this.#answers.shift() ?? { kind: "closed" };
  }

  /** Tells whether the peer ends the connection by the deadline. */
  async closes(deadline: number): Promise<boolean> {
    while (!this.#isOver && !this.#socket.readableEnded) {
      if (!(await this.#event(deadline))) return false;
    }
    return true;
  }

  #receive(chunk: Buffer): void {
    this.#parser.push(chunk);
    for (let read = this.#parser.next(); read !== undefined; read = this.#parser.next()) {
      if (isWireFault(read)) {
        this.#answers.push({ kind: "garbage", message: `${read.code}: ${read.message}` });
        this.#socket.destroy();
        break;
      }
      this.#answers.push({ kind: "response", response: read });
      if (this.#answers.length < MAX_UNREAD) continue;
      this.#socket.destroy();
      break;
    }
    this.#wake();
  }

  #closed(): void {
    if (this.#parser.end() !== undefined) {
      const message = "the connection closed in the middle of a response";
      this.#answers.push({ kind: "garbage", message });
    }
    this.#isOver = true;
    this.#wake();
  }

  /** False: the deadline passed first. */
  #event(deadline: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), Math.max(0, deadline - performance.now()));
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}
