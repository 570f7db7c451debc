/**
 * The connection to an MCP server: opened on demand, and reopened after a loss, with a back-off
 * while that fails.
 */
import { type BackOff, pauseAfter } from "../../base/back-off.ts";
import { Deadline, raceAbort } from "../../base/deadline.ts";
import { reasonOf } from "../../base/thrown.ts";
import type { Holders } from "../../state/holders.ts";
import type { CallLog } from "../handler.ts";
import { McpConnection } from "./mcp-connection.ts";
import type { McpServerSettings, Secrets } from "./read-settings.ts";

export type McpServerHealth =
  | { readonly status: "not-connected" | "connected" }
  | { readonly status: "unreachable"; readonly reason: string };

/** The server cannot be reached; the reason is for operators. */
export class Unreachable extends Error {}

/** The log, the clock, and this process's identity among others that share the store. */
export interface McpServerOptions {
  /** Undefined if no other process shares the store. */
  readonly holders?: Pick<Holders, "self">;
  readonly log: Pick<CallLog, "info" | "warn">;
  /** A monotonic clock in milliseconds. */
  now?(): number;
}

interface ConnectionListener {
  /** The list of tools may have changed: a new connection, a lost one, or a notification. */
  onStale(): void;
  onListChanged(): void;
  readonly onQuestion: Parameters<typeof McpConnection.open>[1]["onQuestion"];
}

const RETRIES: BackOff = { firstMs: 250, longestMs: 30_000 };

export class KeptConnection {
  readonly #settings: McpServerSettings;
  readonly #secrets: Secrets;
  readonly #options: McpServerOptions;
  readonly #listener: ConnectionListener;
  readonly #closing = new AbortController();
  #connection: McpConnection | undefined;
  /** Closing of earlier connections: a child process may take a few seconds. */
  readonly #ending = new Set<Promise<void>>();
  #connecting: Promise<McpConnection> | undefined;
  #failures = 0;
  #retryAt = Number.NEGATIVE_INFINITY;
  #reason = "";

  constructor(
    settings: McpServerSettings,
    secrets: Secrets,
    options: McpServerOptions,
    listener: ConnectionListener,
  ) {
    this.#settings = settings;
    this.#secrets = secrets;
    this.#options = options;
    this.#listener = listener;
  }

  get isOpen(): boolean {
    return this.#connection !== undefined;
  }

  /** Aborted once `close` is called. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  get health(): McpServerHealth {
    if (this.#connection !== undefined) return { status: "connected" };
    return this.#failures === 0
      ? { status: "not-connected" }
      : { status: "unreachable", reason: this.#reason };
  }

  now(): number {
    return this.#options.now?.() ?? performance.now();
  }

  /** Returns the connection, waiting no longer than the signal allows. Throws `Unreachable`. */
  async get(signal: AbortSignal): Promise<McpConnection> {
    return this.#connection ?? unlessAborted(this.open(), signal);
  }

  /** Returns the connection. Throws `Unreachable`, immediately during the back-off after a failure. */
  async open(): Promise<McpConnection> {
    if (this.#connection !== undefined) return this.#connection;
    if (this.#closing.signal.aborted) throw new Unreachable("the server is closed");
    if (this.#connecting === undefined) {
      if (this.now() < this.#retryAt) throw new Unreachable(this.#reason);
      this.#connecting = this.#open().finally(() => {
        this.#connecting = undefined;
      });
    }
    return this.#connecting;
  }

  /** Closes a connection; the next request opens another. */
  async drop(connection: McpConnection | undefined = this.#connection): Promise<void> {
    if (connection === this.#connection) this.#connection = undefined;
    if (connection !== undefined) await this.#end(connection);
  }

  #end(connection: McpConnection): Promise<void> {
    const ending = connection.close().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    return ending;
  }

  /** Closes for good, and aborts work in progress. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#connecting?.catch(() => undefined);
    await this.drop();
    await Promise.all(this.#ending);
  }

  /** Resets the back-off once the server has listed its tools. */
  works(): void {
    const { name } = this.#settings;
    if (this.#failures > 0) this.#options.log.info({ mcp_server: name }, "connected");
    this.#failures = 0;
  }

  /** Begins or extends the back-off after a failure of the server. */
  fail(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    this.#failures += 1;
    const delay = pauseAfter(this.#failures, RETRIES);
    this.#retryAt = this.now() + delay;
    this.#reason = this.#secrets.conceal(reasonOf(error));
    const fields = { mcp_server: this.#settings.name, reason: this.#reason, retry_ms: delay };
    this.#options.log.warn(fields, "an MCP server fails");
  }

  async #open(): Promise<McpConnection> {
    const { signal } = this.#closing;
    const deadline = new Deadline({ signals: [signal], timeoutMs: this.#settings.connectMs });
    let opened: McpConnection | undefined;
    try {
      opened = await McpConnection.open(
        this.#settings,
        {
          onListChanged: () => this.#listener.onListChanged(),
          onClosed: () => this.#lost(opened),
          onQuestion: this.#listener.onQuestion,
        },
        deadline.signal,
      );
    } catch (error) {
      this.fail(error);
      throw new Unreachable(this.#reason, { cause: error });
    } finally {
      deadline.clear();
    }
    if (signal.aborted) {
      await opened.close();
      throw new Unreachable("the server is being closed");
    }
    this.#listener.onStale();
    this.#connection = opened;
    return opened;
  }

  #lost(connection: McpConnection | undefined): void {
    if (connection === undefined || this.#connection !== connection) return;
    this.#connection = undefined;
    this.#listener.onStale();
    this.fail(new Error(`the connection was closed: ${connection.lastWords}`.replace(/: $/, "")));
    void this.#end(connection);
  }
}

/** Waits for work until the signal aborts, then throws `Unreachable`. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const outcome = await raceAbort(work, signal);
  if (outcome === "aborted") throw new Unreachable("nobody waits any more");
  return outcome;
}
