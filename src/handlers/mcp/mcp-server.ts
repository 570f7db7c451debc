/** An MCP server behind this one: asked from time to time what its tools are, because it may change them unseen. */
import { Deadline } from "../../base/deadline.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import { type CallListener, type CallOutcome, HeldCalls } from "./held-calls.ts";
import {
  KeptConnection,
  type McpServerHealth,
  type McpServerOptions,
  Unreachable,
  unlessAborted,
} from "./kept-connection.ts";
import type { ToolRequest } from "./mcp-connection.ts";
import { type McpServerSettings, Secrets } from "./read-settings.ts";
import type { OfferedTool } from "./tool-pins.ts";

/** All tools of a server, by name. */
export type OfferedTools = ReadonlyMap<string, OfferedTool>;

/** The call of a tool that has to be the one that was pinned. */
interface PinnedRequest extends Omit<ToolRequest, "definition"> {
  readonly tool: string;
  readonly pin: string;
  /** The agent that can come back with the answer to a question; undefined: questions are declined. */
  readonly caller?: string;
}

/** The answer; `changed`: the tool is another one by now, or gone, and was not called. */
export type PinnedAnswer =
  | CallOutcome
  | { readonly kind: "changed"; readonly offered?: OfferedTool };

/** Hears of a server's tools each time that they were read. */
type ToolsListener = (tools: OfferedTools) => void;

/** How old a list may be that a call goes by, and how often a server is asked for it. */
const FRESH_MS = 60_000;
/** Lists are not read more often than this, however often a server says that they changed. */
const LEAST_GAP_MS = 5_000;
/** Calls at once; a server that is slower than they come gets no more. */
const MAX_CALLS = 256;

export class McpServer {
  readonly settings: McpServerSettings;
  readonly secrets: Secrets;
  /** Calls that wait for answers to what the server asks. */
  readonly held: HeldCalls = new HeldCalls();
  /** The process in which calls wait; undefined where no other works over the same store. */
  readonly process: string | undefined;
  readonly #connection: KeptConnection;
  readonly #listeners = new Set<ToolsListener>();
  #tools: OfferedTools | undefined;
  #listing: Promise<OfferedTools> | undefined;
  #listedAt = Number.NEGATIVE_INFINITY;
  #isListStale = true;
  #calls = 0;
  #isRetired = false;
  #timer: NodeJS.Timeout | undefined;
  /** Set while the list is to be read again because the server said that it has changed. */
  #rereading: NodeJS.Timeout | undefined;

  constructor(settings: McpServerSettings, options: McpServerOptions) {
    this.settings = settings;
    this.secrets = new Secrets(settings);
    this.process = options.holders?.self;
    this.#connection = new KeptConnection(settings, this.secrets, options, {
      onStale: () => {
        this.#isListStale = true;
      },
      onListChanged: () => this.#listChanged(),
      onQuestion: (question) => this.held.question(question),
    });
  }

  get health(): McpServerHealth {
    return this.#connection.health;
  }

  /** The tools as they were read last; undefined: they never were. */
  get offered(): OfferedTools | undefined {
    return this.#tools;
  }

  /** Looks after the server from now on: what it offers is read at once and every minute. */
  start(): void {
    if (this.#timer !== undefined || this.#isRetired || this.#connection.closing.aborted) return;
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
  async call(request: PinnedRequest): Promise<PinnedAnswer> {
    if (this.#calls >= MAX_CALLS) throw new Unreachable("too many calls are under way");
    return this.#counting(async () => {
      const answer = (await this.#begin(request)) ?? (await this.#begin(request));
      if (answer === undefined) throw new Unreachable("the server forgets each session at once");
      return answer;
    });
  }

  /** Undefined: the server knew nothing of the session, and the next call begins another. */
  async #begin({
    tool,
    pin,
    caller,
    ...request
  }: PinnedRequest): Promise<PinnedAnswer | undefined> {
    const tools = await this.tools(request.signal);
    const offered = tools.get(tool);
    if (offered?.pin !== pin) return { kind: "changed", ...(offered && { offered }) };
    const connection = await this.#connection.get(request.signal);
    const { definition } = offered;
    try {
      return await this.held.begin(
        (signal, onProgress) =>
          connection.call({
            ...{ ...request, definition, signal },
            ...(request.onProgress && { onProgress }),
          }),
        caller,
        request,
      );
    } catch (error) {
      if (!connection.isSessionGone(error)) throw error;
      await this.#connection.drop(connection);
      return undefined;
    }
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
    const isFresh = !this.#isListStale && this.#connection.now() - this.#listedAt < FRESH_MS;
    if (isFresh && this.#tools !== undefined && this.#connection.isOpen) return this.#tools;
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
    await this.#connection.close();
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

  /** Closes a retired server that has nothing left to do. */
  #rest(): void {
    if (!this.#isRetired || this.#calls > 0 || this.#listing !== undefined) return;
    void this.#connection.drop();
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
    this.#isListStale = true;
    const connection = await this.#connection.open();
    const deadline = new Deadline({
      signals: [this.#connection.closing],
      timeoutMs: this.settings.timeoutMs,
    });
    try {
      this.#isListStale = false;
      const tools = await connection.listTools(deadline.signal);
      this.#tools = tools;
      this.#listedAt = this.#connection.now();
      this.#connection.works();
      for (const listener of this.#listeners) listener(tools);
      return tools;
    } catch (error) {
      this.#isListStale = true;
      // A server that cannot say what its tools are is not asked again at once.
      this.#connection.fail(error);
      await this.#connection.drop();
      throw error;
    } finally {
      deadline.clear();
    }
  }

  #listChanged(): void {
    this.#isListStale = true;
    const wait = this.#listedAt + LEAST_GAP_MS - this.#connection.now();
    this.#rereading ??= setTimeout(
      () => {
        this.#rereading = undefined;
        this.#refreshUnseen();
      },
      Math.max(wait, 0),
    ).unref();
  }
}
