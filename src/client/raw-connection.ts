/**
 * A TLS connection that sends raw octets, for tests of input that a proper client never sends. Any behaviour of the
 * peer is returned as a value, be it a stall, a close or a malformed response; every wait has a deadline.   AGTP "Wire
 * Format"
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
  /** The connection closed before any octet of a response. */
  | { readonly kind: "closed" }
  /** The peer sent a malformed or truncated response. */
  | { readonly kind: "garbage"; readonly message: string }
  /** The deadline passed before a complete response. */
  | { readonly kind: "silence"; readonly isPartial: boolean };

interface RawConnectionOptions {
  /** Milliseconds of `performance.now()`. */
  readonly deadline: number;
  readonly limits: ResponseLimits;
}

/** A connection, or the reason for people why there is none. */
type RawConnectionResult =
  | { readonly kind: "connection"; readonly connection: RawConnection }
  | { readonly kind: "unreachable"; readonly message: string };

/** Connects. Throws ERR_AGTP_TLS on unusable PEM only. */
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

/** The connection is dropped once this many responses are unread. */
const MAX_UNREAD = 64;

/** An open connection; responses are read in order of arrival. */
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

  /** True if a response has arrived and is unread. */
  get hasUnread(): boolean {
    return this.#answers.length > 0;
  }

  /** True if the peer may still respond. */
  get isOpen(): boolean {
    return !this.#isOver && !this.#socket.readableEnded && this.#socket.writable;
  }

  send(bytes: Uint8Array): void {
    if (!this.#isOver) this.#socket.write(bytes);
  }

  /** Half-closes: the peer may still respond. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Returns the next response, or the outcome by the deadline. */
  async next(deadline: number): Promise<RawAnswer> {
    while (this.#answers.length === 0 && !this.#isOver) {
      if (!(await this.#event(deadline))) {
        return { kind: "silence", isPartial: this.#parser.phase !== "idle" };
      }
    }
    return this.#answers.shift() ?? { kind: "closed" };
  }

  /** True if the peer closes the connection by the deadline. */
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

  /** Resolves with false if the deadline passes first. */
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
