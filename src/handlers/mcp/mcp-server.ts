/** An MCP server behind this one. Its list of tools is refreshed regularly, because it may change unannounced. */
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

/** A call of a tool that must still have its pinned definition. */
interface PinnedRequest extends Omit<ToolRequest, "definition"> {
  readonly tool: string;
  readonly pin: string;
  /** The agent that can bring the answer to a question; without one, questions are declined. */
  readonly caller?: string;
}

/** The answer to a call; `changed`: the tool has another definition, or is gone, and was not called. */
export type PinnedAnswer =
  | CallOutcome
  | { readonly kind: "changed"; readonly offered?: OfferedTool };

/** Called with a server's tools each time they have been listed. */
type ToolsListener = (tools: OfferedTools) => void;

/** The maximum age of a list that calls rely on, and the interval of its refresh. */
const FRESH_MS = 60_000;
/** The minimum time between two reads of the list, however often the server announces changes. */
const LEAST_GAP_MS = 5_000;
/** The maximum of simultaneous calls; a slower server gets no more. */
const MAX_CALLS = 256;

export class McpServer {
  readonly settings: McpServerSettings;
  readonly secrets: Secrets;
  /** Calls that wait for answers to the server's questions. */
  readonly held: HeldCalls = new HeldCalls();
  /** The process that holds the calls; undefined if no other process shares the store. */
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
  /** The timer of the next read of the list after the server announced a change. */
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

  /** The tools as listed last; undefined before the first list. */
  get offered(): OfferedTools | undefined {
    return this.#tools;
  }

  /** Lists the tools now and once a minute. */
  start(): void {
    if (this.#timer !== undefined || this.#isRetired || this.#connection.closing.aborted) return;
    this.#refreshUnseen();
    this.#timer = setInterval(() => this.#refreshUnseen(), FRESH_MS);
    this.#timer.unref();
  }

  /** Calls the listener with the known tools and with each later list; returns the function that removes it. */
  watch(listener: ToolsListener): () => void {
    this.#listeners.add(listener);
    if (this.#tools !== undefined) listener(this.#tools);
    return () => this.#listeners.delete(listener);
  }

  /** Calls a tool if its definition is still the pinned one. Throws for a server that fails. */
  async call(request: PinnedRequest): Promise<PinnedAnswer> {
    if (this.#calls >= MAX_CALLS) throw new Unreachable("too many calls are under way");
    return this.#counting(async () => {
      const answer = (await this.#begin(request)) ?? (await this.#begin(request));
      if (answer === undefined) throw new Unreachable("the server forgets each session at once");
      return answer;
    });
  }

  /** Calls the tool once; undefined if the server had lost the session, and the next call opens another. */
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

  /** Resumes a held call with the answer to its question; undefined if the call is gone. */
  resume(
    id: string,
    content: JsonRecord,
    listener: CallListener,
  ): Promise<CallOutcome | undefined> {
    return this.#counting(async () => this.held.resume(id, content, listener));
  }

  /** The number of calls in progress. */
  get calls(): number {
    return this.#calls;
  }

  /** The current tools; listed again if the list is stale. */
  async tools(signal: AbortSignal): Promise<OfferedTools> {
    const isFresh = !this.#isListStale && this.#connection.now() - this.#listedAt < FRESH_MS;
    if (isFresh && this.#tools !== undefined && this.#connection.isOpen) return this.#tools;
    return unlessAborted(this.#list(), signal);
  }

  /**
   * Called when no served deployment uses the server: it stays connected only while calls of
   * earlier ones need it.
   */
  retire(): void {
    this.#isRetired = true;
    clearInterval(this.#timer);
    this.held.close();
    this.#rest();
  }

  /** Closes the connection, and aborts calls in progress. */
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

  /** Disconnects a retired server that is idle. */
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
      // A server that cannot list its tools is in back-off.
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
