/**
 * One connection to an MCP server, in the server's protocol version. A server may ask for input by
 * elicitation; sampling is refused, because nobody offers it.
 */
import {
  Client,
  isInputRequiredResult,
  SdkHttpError,
  type StandardSchemaV1,
} from "@modelcontextprotocol/client";
import { given, type JsonRecord, recordIn } from "../../base/json-value.ts";
import type { TraceFields } from "../../base/leaving.ts";
import { inSlices, mapPaced } from "../../base/paced.ts";
import { startFault } from "../../base/process-groups.ts";
import { reasonOf } from "../../base/thrown.ts";
import { VERSION } from "../../base/version.ts";
import { judgeByParts } from "./judged-results.ts";
import { type OpenedTransport, openTransport } from "./open-transport.ts";
import type { McpServerSettings } from "./read-settings.ts";
import { type OfferedTool, readTool, type ToolDefinition } from "./tool-pins.ts";

export interface ToolRequest {
  readonly definition: ToolDefinition;
  readonly arguments: JsonRecord;
  readonly signal: AbortSignal;
  onProgress?(progress: JsonRecord): void;
  /** The trace context of the call. */
  readonly trace?: TraceFields;
  /** Answers to what the server asked for before, and its own request state. */
  readonly input?: {
    readonly responses: JsonRecord;
    readonly requestState?: string;
  };
}

/** The answer to a call, as the server sent it. */
export type ToolAnswer = { readonly kind: "result"; readonly result: JsonRecord } | InputRequired;

/** The server asks for input first, and expects to be called again with it. */
export interface InputRequired {
  readonly kind: "input-required";
  readonly requests: JsonRecord;
  readonly requestState?: string;
}

/** A question that a server of the older protocol asks in the middle of a call. */
type AnswerQuestion = (question: JsonRecord) => Promise<JsonRecord>;

interface ConnectionEvents {
  /** The server's tools may have changed. */
  onListChanged(): void;
  onClosed(): void;
  readonly onQuestion: AnswerQuestion;
}

/** A server with more pages than this is refused; MAX_TOOLS bounds the tools across all pages. */
const MAX_PAGES = 64;
const MAX_TOOLS = 4_096;
/** The bound on the canonical form of all tools together: kept in memory they take up to twenty times as much. */
const MAX_LIST_CHARACTERS = 8_388_608;
/** How often a call is repeated for a server that only wants its request state back. */
const MAX_REPEATS = 8;
/** Larger than any deadline of a caller, so the SDK's own timer never fires first. */
const NO_TIMEOUT_MS = 86_400_000;

export class McpConnection {
  readonly #client: Client;
  readonly #opened: OpenedTransport;

  private constructor(client: Client, opened: OpenedTransport) {
    this.#client = client;
    this.#opened = opened;
  }

  /** Connects; a failed attempt is closed. Throws the SDK's errors. */
  static async open(
    settings: McpServerSettings,
    events: ConnectionEvents,
    signal: AbortSignal,
  ): Promise<McpConnection> {
    const opened = openTransport(settings);
    const { connectMs: timeout } = settings;
    const client = new Client(
      { name: "agtpd", version: VERSION },
      {
        capabilities: { elicitation: { form: {} } },
        versionNegotiation: { mode: "auto", probe: { timeoutMs: timeout / 2 } },
        inputRequired: { autoFulfill: false },
        // Why: the endpoint's own schema validates results, and the server's schemas are never compiled.
        jsonSchemaValidator: ACCEPTING,
        listChanged: { tools: { autoRefresh: false, onChanged: () => events.onListChanged() } },
      },
    );
    judgeByParts(client);
    client.onclose = () => events.onClosed();
    client.setRequestHandler(
      "elicitation/create",
      async ({ params }) => events.onQuestion({ ...params }) as never,
    );
    const connection = new McpConnection(client, opened);
    try {
      await client.connect(opened.transport, { signal, timeout });
      return connection;
    } catch (error) {
      await connection.close();
      const reason = connectReason(error);
      const words = opened.lastWords();
      throw new Error(words === "" ? reason : `${reason}: ${words}`, { cause: error });
    }
  }

  /** The end of a child process's standard error, on one line. */
  get lastWords(): string {
    return this.#opened.lastWords();
  }

  /** True if an empty cursor is a valid cursor.   MCP "Pagination" */
  get #isEmptyCursor(): boolean {
    return this.#client.getProtocolEra() === "modern";
  }

  /** Lists the server's tools; throws if there are too many, or if it has no list of them. */
  async listTools(signal: AbortSignal): Promise<ReadonlyMap<string, OfferedTool>> {
    const tools = new Map<string, OfferedTool>();
    let characters = 0;
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const request = { method: "tools/list", params };
      const answer = await this.#client.request(request, ANYTHING, waiting(signal));
      const listed = recordIn(answer)["tools"];
      if (!Array.isArray(listed)) throw new MalformedAnswer("its list of tools is no list");
      const read = await inSlices(mapPaced(listed, readTool));
      for (const tool of read) {
        if (tool === undefined) continue;
        const { name } = tool.definition;
        if (tools.has(name)) throw new MalformedAnswer("two of its tools have one name");
        tools.set(name, tool);
        characters += tool.characters;
      }
      if (characters > MAX_LIST_CHARACTERS)
        throw new MalformedAnswer("its list of tools is too long");
      if (tools.size > MAX_TOOLS) break;
      const next = recordIn(answer)["nextCursor"];
      if (typeof next !== "string" || (next === "" && !this.#isEmptyCursor)) return tools;
      cursor = next;
    }
    throw new MalformedAnswer("its list of tools does not end");
  }

  /** Calls a tool. Throws the SDK's errors. */
  async call(request: ToolRequest): Promise<ToolAnswer> {
    let answer = await this.#callOnce(request);
    // A server that asks for nothing but its request state wants to be called once more.
    for (let again = 0; again < MAX_REPEATS && isRepeat(answer); again += 1) {
      const { requestState = "" } = answer;
      answer = await this.#callOnce({ ...request, input: { responses: {}, requestState } });
    }
    if (isRepeat(answer)) throw new MalformedAnswer("it asks to be called again without an end");
    return answer;
  }

  async #callOnce(request: ToolRequest): Promise<ToolAnswer> {
    const { definition, arguments: args, signal, onProgress, input, trace = {} } = request;
    const result = await this.#client.callTool(
      {
        ...{ name: definition.name, arguments: args },
        ...(trace.traceparent === undefined ? {} : { _meta: { ...trace } }),
        ...(input && { inputResponses: input.responses as never }),
        ...(input?.requestState === undefined ? {} : { requestState: input.requestState }),
      },
      {
        ...waiting(signal),
        toolDefinition: withoutOutput(definition) as never,
        allowInputRequired: true,
        ...(onProgress && { onprogress: (progress) => onProgress({ ...progress }) }),
      },
    );
    if (!isInputRequiredResult(result)) return { kind: "result", result: { ...result } };
    const { inputRequests = {}, requestState } = result;
    return { kind: "input-required", requests: { ...inputRequests }, ...given({ requestState }) };
  }

  /**
   * Returns true if a call failed because its server has forgotten the session.
   * MCP 2025-11-25 "Session Management"
   */
  isSessionGone(error: unknown): boolean {
    const isNotFound = error instanceof SdkHttpError && error.status === 404;
    return isNotFound && this.#opened.transport.sessionId !== undefined;
  }

  /** Closes the connection, with its session or child process. Never rejects. */
  async close(): Promise<void> {
    this.#client.onclose = () => undefined;
    await this.#opened.leave();
    await this.#client.close().catch(() => undefined);
    await this.#opened.close().catch(() => undefined);
  }
}

/** Adds the HTTP status, which the library leaves out though it may be all that the server says. */
function connectReason(error: unknown): string {
  if (isStartFault(error)) return startFault(error, error.path);
  const reason = reasonOf(error).trimEnd().replace(/:$/, "");
  if (!(error instanceof SdkHttpError)) return reason;
  const { status } = error;
  // MCP 2025-11-25 "Backwards Compatibility": an address of the older transport answers so.
  const isOther = status === 404 || status === 405;
  const meaning =
    "there is no Streamable HTTP at this address, and HTTP+SSE of 2024-11-05 is not called";
  return isOther ? `HTTP ${status}: ${meaning}: ${reason}` : `HTTP ${status}: ${reason}`;
}

/** Returns true for an error of `spawn`. */
function isStartFault(error: unknown): error is Error & { readonly path: string } {
  return error instanceof Error && "path" in error && "spawnargs" in error;
}

function isRepeat(answer: ToolAnswer): answer is InputRequired {
  return answer.kind === "input-required" && Object.keys(answer.requests).length === 0;
}

/** Removes the output schema: the endpoint's own validates, and the library would reject a lone text. */
function withoutOutput({ outputSchema: _, ...rest }: ToolDefinition): object {
  return rest;
}

/** A server's answer breaks the protocol. */
export class MalformedAnswer extends Error {}

function waiting(signal: AbortSignal): { readonly signal: AbortSignal; readonly timeout: number } {
  return { signal, timeout: NO_TIMEOUT_MS };
}

const ANYTHING: StandardSchemaV1 = {
  "~standard": { version: 1, vendor: "agtpd", validate: (value) => ({ value }) },
};

const ACCEPTING = {
  getValidator: () => (data: unknown) => ({ valid: true, data, errorMessage: undefined }) as never,
};
