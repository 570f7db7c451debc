/** A daemon on a free port, and a client that writes and reads bytes as they are. */

import type { Socket } from "node:net";
import { resolve } from "node:path";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import type { DaemonOptions } from "../../src/app/build-daemon.ts";
import { type Daemon, startDaemon } from "../../src/app/daemon.ts";
import type { AnyModule } from "../../src/app/provision.ts";
import type { Environment } from "../../src/base/environment.ts";
import { createLog } from "../../src/base/log.ts";
import { formatProblem } from "../../src/base/problem.ts";
import { isWireFault } from "../../src/wire/message-parser.ts";
import { ResponseParser } from "../../src/wire/response-parser.ts";
import { daemonFlags } from "../../tools/daemon-flags.ts";
import { createDeployment, type DeploymentFiles, type TestDeployment } from "./deployment.ts";
import { encodeRequest, parseBody, type TestReply, type TestRequest } from "./dispatch.ts";

// Workers are started with their parent's flags, and the bytecode that the build kept fits those of `agtpd` alone.
process.execArgv = [...daemonFlags(resolve(import.meta.dirname, "../../dist/tools/agtpd.js"))];

export interface TestDaemon {
  readonly daemon: Daemon;
  readonly directory: string;
  /** Log lines so far, parsed. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  connect(options?: ConnectionOptions): Promise<RawClient>;
  close(): Promise<void>;
}

/** Starts a daemon for the running test. */
export async function openDaemon(
  files: DeploymentFiles = {},
  env: Environment = {},
  modules?: readonly AnyModule[],
  seat?: DaemonOptions["place"],
): Promise<TestDaemon> {
  const deployment = createDeployment(files);
  onTestFinished(() => deployment.remove());
  return serve(deployment, env, modules, seat);
}

/** Serves a deployment for the running test. */
export async function serve(...serving: Parameters<typeof createDaemon>): Promise<TestDaemon> {
  const daemon = await createDaemon(...serving);
  onTestFinished(() => daemon.close());
  return daemon;
}

/** Starts a daemon that the caller closes. */
export async function createDaemon(
  { configPath, directory }: Omit<TestDeployment, "remove">,
  env: Environment = {},
  modules?: readonly AnyModule[],
  seat?: DaemonOptions["place"],
): Promise<TestDaemon> {
  const log: Readonly<Record<string, unknown>>[] = [];
  const write = (text: string): void => {
    for (const line of text.split("\n").filter(Boolean)) log.push(JSON.parse(line));
  };
  const sink = { write, flush: () => Promise.resolve() };
  const common = { configPath, port: 0, env, log: createLog("info", sink) };
  const options = {
    ...common,
    ...(modules === undefined ? {} : { modules }),
    ...(seat === undefined ? {} : { place: seat }),
  };
  const started = await startDaemon(options);
  if (started.kind === "refused") {
    throw new Error(`refused to start:\n${started.problems.map(formatProblem).join("\n")}`);
  }
  const { daemon } = started;
  const clients = new Set<RawClient>();
  return {
    daemon,
    directory,
    log,
    async connect(options) {
      const client = await connectRaw(daemon, options);
      clients.add(client);
      return client;
    },
    async close() {
      for (const client of clients) client.destroy();
      await daemon.drain();
    },
  };
}

/** Asks on a connection of its own; throws where it closes without an answer. */
export async function askOnce(
  server: Pick<TestDaemon, "connect">,
  request: TestRequest | string | Buffer,
  options?: ConnectionOptions,
): Promise<TestReply> {
  const client = await server.connect(options);
  client.write(Buffer.isBuffer(request) ? request : encodeRequest(request));
  const [reply] = await client.replies(1);
  client.destroy();
  if (reply === undefined) throw new Error("the connection was closed");
  return reply;
}

/** One TLS connection; replies are taken in the order in which they came. */
export class RawClient {
  readonly #socket: TLSSocket;
  readonly #parser = new ResponseParser();
  readonly #replies: TestReply[] = [];
  #isClosed = false;
  #wake: () => void = () => undefined;

  constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    // A reset is one of the ways in which a connection closes.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  /** For what only some tests do: pause, reset, look at the session. */
  get socket(): TLSSocket {
    return this.#socket;
  }

  write(bytes: Buffer | string): void {
    this.#socket.write(bytes);
  }

  /** Ends this side; the peer may still answer. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Waits until this many replies were received in all, or the connection is closed. */
  async replies(count: number): Promise<readonly TestReply[]> {
    while (this.#replies.length < count && !this.#isClosed) await this.#nextEvent();
    return this.#replies;
  }

  /** Waits until the peer has closed the connection. */
  async closed(): Promise<readonly TestReply[]> {
    while (!this.#isClosed) await this.#nextEvent();
    return this.#replies;
  }

  #nextEvent(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #receive(chunk: Buffer): void {
    this.#parser.push(chunk);
    for (let next = this.#parser.next(); next !== undefined; next = this.#parser.next()) {
      if (isWireFault(next)) throw new Error(`no response: ${next.message}`);
      const text = Buffer.from(next.body).toString("utf8");
      const { status, headers } = next;
      this.#replies.push({ status, headers, body: parseBody(text, headers), text });
    }
    this.#wake();
  }
}

/** Waits until a socket is closed, by a reset or otherwise. */
export function closeOf(socket: Socket): Promise<void> {
  socket.on("error", () => undefined);
  return new Promise((resolve) => {
    socket.once("close", () => resolve());
  });
}

/** Opens a connection that the caller closes. */
export function connectRaw(
  { port }: { readonly port: number },
  options?: ConnectionOptions,
): Promise<RawClient> {
  return new Promise((resolve, reject) => {
    // The daemon's certificate is made for the test; whom it proves is not what is tested.
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options });
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      socket.off("error", reject);
      socket.setNoDelay(true);
      resolve(new RawClient(socket));
    });
  });
}
