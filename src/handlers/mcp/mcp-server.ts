/**
 * An MCP server behind this one: connected to when it is needed, again after a loss but not at every
 * call, and asked from time to time what its tools are, because it may change them unseen.
 */
import { Deadline } from "../../base/deadline.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import { raceAbort } from "../../base/race-abort.ts";
import { reasonOf } from "../../base/thrown.ts";
import type { CallLog } from "../handler.ts";
import { definitionPin, type ToolDefinition } from "./definition.ts";
import type { CallListener, CallOutcome } from "./held-call.ts";
import { HeldCalls } from "./held-calls.ts";
import { McpConnection, type ToolRequest } from "./mcp-connection.ts";
import { Secrets } from "./secrets.ts";
import type { McpServerSettings } from "./server-settings.ts";

/** A tool as it is offered now. */
export interface OfferedTool {
  readonly definition: ToolDefinition;
  readonly pin: string;
}

/** All tools of a server, by name. */
export type OfferedTools = ReadonlyMap<string, OfferedTool>;

/** How a server does. */
export type McpServerHealth =
  | { readonly status: "not-connected" | "connected" }
  | { readonly status: "unreachable"; readonly reason: string };

/** The call of a tool that has to be the one that was pinned. */
export interface PinnedRequest extends Omit<ToolRequest, "definition"> {
  readonly tool: string;
  readonly pin: string;
  /** The agent that can come back with the answer to a question; undefined: questions are declined. */
  readonly caller?: string;
}

/** The answer; `changed`: the tool is another one by now, or gone, and was not called. */
export type PinnedAnswer =
  | CallOutcome
  | { readonly kind: "changed"; readonly offered?: OfferedTool };

/** The server cannot be reached; why is for operators. */
export class Unreachable extends Error {}

/** Hears of a server's tools each time that they were read. */
export type ToolsListener = (tools: OfferedTools) => void;

/** The log and the clock. */
export interface McpServerOptions {
  readonly log: Pick<CallLog, "info" | "warn">;
  /** Milliseconds that never decrease. */
  now?(): number;
}

/** How old a list may be that a call goes by, and how often a server is asked for it. */
const FRESH_MS = 60_000;
/** Lists are not read more often than this, however often a server says that they changed. */
const LEAST_GAP_MS = 5_000;
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 30_000;
/** Calls at once; a server that is slower than they come gets no more. */
const MAX_CALLS = 256;

export class McpServer {
  readonly settings: McpServerSettings;
  readonly secrets: Secrets;
  /** Calls that wait for answers to what the server asks. */
  readonly held: HeldCalls = new HeldCalls();
  readonly #options: McpServerOptions;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<ToolsListener>();
  #connection: McpConnection | undefined;
  #connecting: Promise<McpConnection> | undefined;
  #tools: OfferedTools | undefined;
  #listing: Promise<OfferedTools> | undefined;
  #listedAt = Number.NEGATIVE_INFINITY;
  #isListStale = true;
  #failures = 0;
  #retryAt = Number.NEGATIVE_INFINITY;
  #reason = "";
  #calls = 0;
  #isRetired = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: McpServerSettings, options: McpServerOptions) {
    this.settings = settings;
    this.secrets = new Secrets(settings);
    this.#options = options;
  }

  get health(): McpServerHealth {
    if (this.#connection !== undefined) return { status: "connected" };
    return this.#failures === 0
      ? { status: "not-connected" }
      : { status: "unreachable", reason: this.#reason };
  }

  /** The tools as they were read last; undefined: they never were. */
  get offered(): OfferedTools | undefined {
    return this.#tools;
  }

  /** Looks after the server from now on: what it offers is read at once and every minute. */
  start(): void {
    if (this.#timer !== undefined || this.#isRetired || this.#closing.signal.aborted) return;
    this.#refreshUnseen();
    this.#timer = setInterval(() => this.#refreshUnseen(), FRESH_MS);
    this.#timer.unref();
  }

  /** Tells of the tools from now on, and of those that are known; answers how to end it. */
  watch(listener: ToolsListener): () => void {
    this.#listeners.add(listener);
    if (this.#tools !== undefined) listener(this.#tools);
    return () => this.#listeners.delete(listener);
  }

  /** Calls a tool, if it is still the one that was pinned. Throws for a server that fails. */
  async call({ tool, pin, caller, ...request }: PinnedRequest): Promise<PinnedAnswer> {
    if (this.#calls >= MAX_CALLS) throw new Unreachable("too many calls are under way");
    return this.#counting(async () => {
      const tools = await this.tools(request.signal);
      const offered = tools.get(tool);
      if (offered?.pin !== pin) return { kind: "changed", ...(offered && { offered }) };
      const connection = await this.#connected(request.signal);
      const { definition } = offered;
      return await this.held.begin(
        (signal, onProgress) =>
          connection.call({
            ...{ ...request, definition, signal },
            ...(request.onProgress && { onProgress }),
          }),
        caller,
        request,
      );
    });
  }

  /** Goes on with a call by the answer to its question; undefined: it is gone. */
  resume(
    id: string,
    content: JsonRecord,
    listener: CallListener,
  ): Promise<CallOutcome | undefined> {
    return this.#counting(async () => this.held.resume(id, content, listener));
  }

  /** How many calls are under way. */
  get calls(): number {
    return this.#calls;
  }

  /** The tools as they are now; read again where that is not known. */
  async tools(signal: AbortSignal): Promise<OfferedTools> {
    const isFresh = !this.#isListStale && this.#now() - this.#listedAt < FRESH_MS;
    if (isFresh && this.#tools !== undefined && this.#connection !== undefined) return this.#tools;
    return unlessAborted(this.#list(), signal);
  }

  /**
   * No deployment that is served names it any more: it is connected to only as long as a call of an
   * earlier one needs it.
   */
  retire(): void {
    this.#isRetired = true;
    clearInterval(this.#timer);
    this.held.close();
    this.#rest();
  }

  /** Ends the connection and what is under way. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await this.#connecting?.catch(() => undefined);
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
  }

  #now(): number {
    return this.#options.now?.() ?? performance.now();
  }

  async #counting<T>(work: () => Promise<T>): Promise<T> {
    this.#calls += 1;
    try {
      return await work();
    } finally {
      this.#calls -= 1;
      this.#rest();
    }
  }

  /** Of a server that is retired. */
  #rest(): void {
    if (!this.#isRetired || this.#calls > 0 || this.#listing !== undefined) return;
    void this.#drop();
  }

  #refreshUnseen(): void {
    if (this.#isRetired) return;
    void this.#list().catch(() => undefined);
  }

  #list(): Promise<OfferedTools> {
    this.#listing ??= this.#readTools().finally(() => {
      this.#listing = undefined;
      this.#rest();
    });
    return this.#listing;
  }

  async #readTools(): Promise<OfferedTools> {
    const deadline = new Deadline({
      signals: [this.#closing.signal],
      timeoutMs: this.settings.timeoutMs,
    });
    try {
      const connection = await this.#connect();
      this.#isListStale = false;
      const listed = await connection.listTools(deadline.signal);
      const tools = new Map<string, OfferedTool>();
      for (const [name, definition] of listed) {
        tools.set(name, { definition, pin: definitionPin(definition) });
      }
      this.#tools = tools;
      this.#listedAt = this.#now();
      for (const listener of this.#listeners) listener(tools);
      return tools;
    } catch (error) {
      this.#isListStale = true;
      if (error instanceof Unreachable) throw error;
      // A server that cannot say what its tools are is not asked again at once.
      this.#fail(error);
      await this.#drop();
      throw error;
    } finally {
      deadline.clear();
    }
  }

  async #connected(signal: AbortSignal): Promise<McpConnection> {
    return this.#connection ?? unlessAborted(this.#connect(), signal);
  }

  async #connect(): Promise<McpConnection> {
    if (this.#connection !== undefined) return this.#connection;
    if (this.#closing.signal.aborted) throw new Unreachable("the server is closed");
    if (this.#connecting === undefined) {
      if (this.#now() < this.#retryAt) throw new Unreachable(this.#reason);
      this.#connecting = this.#open().finally(() => {
        this.#connecting = undefined;
      });
    }
    return this.#connecting;
  }

  async #open(): Promise<McpConnection> {
    const { signal } = this.#closing;
    const deadline = new Deadline({ signals: [signal], timeoutMs: this.settings.timeoutMs });
    let opened: McpConnection | undefined;
    try {
      opened = await McpConnection.open(
        this.settings,
        {
          onListChanged: () => this.#listChanged(),
          onClosed: () => this.#lost(opened),
          onQuestion: (question) => this.held.question(question),
        },
        deadline.signal,
      );
    } catch (error) {
      this.#fail(error);
      throw new Unreachable(this.#reason, { cause: error });
    } finally {
      deadline.clear();
    }
    if (signal.aborted) {
      await opened.close();
      throw new Unreachable("the server is being closed");
    }
    if (this.#failures > 0) this.#options.log.info({ mcp_server: this.settings.name }, "connected");
    this.#failures = 0;
    this.#isListStale = true;
    this.#connection = opened;
    return opened;
  }

  #listChanged(): void {
    this.#isListStale = true;
    const wait = this.#listedAt + LEAST_GAP_MS - this.#now();
    if (wait <= 0) this.#refreshUnseen();
    else setTimeout(() => this.#refreshUnseen(), wait).unref();
  }

  #lost(connection: McpConnection | undefined): void {
    if (connection === undefined || this.#connection !== connection) return;
    this.#connection = undefined;
    this.#isListStale = true;
    this.#fail(new Error(`the connection was closed ${connection.lastWords}`));
    void connection.close();
  }

  async #drop(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
  }

  #fail(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    const delay = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    this.#retryAt = this.#now() + delay;
    this.#reason = this.secrets.conceal(reasonOf(error));
    const fields = { mcp_server: this.settings.name, reason: this.#reason, retry_ms: delay };
    this.#options.log.warn(fields, "an MCP server fails");
  }
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const outcome = await raceAbort(work, signal);
  if (outcome === "aborted") throw new Unreachable("nobody waits any more");
  return outcome;
}
