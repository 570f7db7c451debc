/** A client of one node, with one connection at a time, that records the answers. */

import { connect, type TLSSocket } from "node:tls";
import { uuidv7 } from "../../../src/identity/uuid.ts";
import { isWireFault } from "../../../src/wire/message-parser.ts";
import { type ReceivedResponse, ResponseParser } from "../../../src/wire/response-parser.ts";
import { sha256Hex } from "./evidence.ts";
import type { Asked } from "./history.ts";
import { encode, type Request } from "./request.ts";

/** How long a client waits for an answer. */
const PATIENCE_MS = 8_000;

/** The certificate that a client shows, and its key, in PEM. */
export interface Certified {
  readonly agentId: string;
  readonly cert: string;
  readonly key: string;
}

/** The record of a request, and the body of its answer. */
export interface Told {
  readonly asked: Asked;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Milliseconds of the monotonic clock that the machine's processes share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export class Caller {
  readonly #node: { readonly name: string; readonly port: number };
  readonly #note: (asked: Asked) => void;
  readonly #certified: Certified | undefined;
  #socket: TLSSocket | undefined;

  constructor(
    node: { readonly name: string; readonly port: number },
    note: (asked: Asked) => void,
    certified?: Certified,
  ) {
    this.#node = node;
    this.#note = note;
    this.#certified = certified;
  }

  /** Sends a request, and waits for the outcome; undefined if it could not be sent. */
  async ask(request: Request): Promise<Told | undefined> {
    const socket = await this.#connect();
    if (socket === undefined) return undefined;
    const id = uuidv7();
    const { kind, agent = this.#certified?.agentId ?? "", key, keyIn, saidIn } = request;
    const sent = { id, node: this.#node.name, agent, kind, key, sentAt: now() };
    const response = await exchange(socket, encode({ ...request, agent }, id));
    let told: Told = { asked: sent, body: {} };
    if (response === undefined) this.close();
    else {
      const body = parse(response.body);
      const jws = response.headers.get("attribution-record");
      const error = body["error"] as { readonly code?: string } | undefined;
      const { status } = response;
      const auditId = jws === undefined ? undefined : sha256Hex(jws);
      const facts = { key: key ?? textIn(body, keyIn), said: textIn(body, saidIn) };
      const heard = { heardAt: now(), status, code: error?.code, auditId };
      told = { body, asked: { ...sent, ...facts, ...heard } };
    }
    this.#note(told.asked);
    return told;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  async #connect(): Promise<TLSSocket | undefined> {
    if (this.#socket !== undefined && !this.#socket.destroyed) return this.#socket;
    const { port } = this.#node;
    const { cert, key } = this.#certified ?? {};
    const address = { host: "127.0.0.1", port, rejectUnauthorized: false };
    const socket = connect({ ...address, ...(cert && key && { cert, key }) });
    socket.on("error", () => undefined);
    const isOpen = await settled<true>(socket, (done) => {
      socket.once("secureConnect", () => done(true));
    });
    if (isOpen === undefined) socket.destroy();
    this.#socket = isOpen === undefined ? undefined : socket;
    return this.#socket;
  }
}

function exchange(socket: TLSSocket, request: Buffer) {
  const parser = new ResponseParser();
  return settled<ReceivedResponse>(socket, (done) => {
    const take = (chunk: Buffer): void => {
      parser.push(chunk);
      const next = parser.next();
      if (next === undefined) return;
      socket.off("data", take);
      done(isWireFault(next) ? undefined : next);
    };
    socket.on("data", take);
    socket.write(request);
  });
}

/** Waits for an event of a socket; undefined if it closes first or takes too long. */
function settled<Value>(
  socket: TLSSocket,
  begin: (done: (value: Value | undefined) => void) => void,
): Promise<Value | undefined> {
  return new Promise((resolve) => {
    const done = (value?: Value): void => {
      clearTimeout(timer);
      socket.off("close", closed);
      resolve(value);
    };
    const closed = (): void => done();
    const timer = setTimeout(() => done(), PATIENCE_MS);
    socket.once("close", closed);
    begin(done);
  });
}

function textIn(body: Told["body"], member: string | undefined): string | undefined {
  const value = member === undefined ? undefined : body[member];
  return typeof value === "string" ? value : undefined;
}

function parse(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(Buffer.from(body).toString("utf8"));
  } catch {
    return {};
  }
}
