/**
 * One connection to an MCP server, in the version that the server speaks. A server may ask for the
 * caller's input by a question (elicitation); its sampling is refused, because nobody offers it.
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
  /** The trace that the call is a part of. */
  readonly trace?: TraceFields;
  /** Answers to what the server asked for before, and its own note about it. */
  readonly input?: {
    readonly responses: JsonRecord;
    readonly requestState?: string;
  };
}

/** The answer to a call, as the server gave it. */
export type ToolAnswer = { readonly kind: "result"; readonly result: JsonRecord } | InputRequired;

/** The server asks for something first, and is called again with it. */
export interface InputRequired {
  readonly kind: "input-required";
  readonly requests: JsonRecord;
  readonly requestState?: string;
}

/** A question that a server of the older protocol asks in the middle of a call. */
type AnswerQuestion = (question: JsonRecord) => Promise<JsonRecord>;

interface ConnectionEvents {
  /** The server's tools may be others now. */
  onListChanged(): void;
  onClosed(): void;
  readonly onQuestion: AnswerQuestion;
}

/** A page of tools is short of this many; a server with more of them is refused. */
const MAX_PAGES = 64;
const MAX_TOOLS = 4_096;
/** Of all of them in their canonical form: they are kept, and take up to twenty times as many octets. */
const MAX_LIST_CHARACTERS = 8_388_608;
/** How often a call is made again where its server asks for no more than that. */
const MAX_REPEATS = 8;
/** The SDK's timer never fires first: deadlines are the caller's. */
const NO_TIMEOUT_MS = 86_400_000;

export class McpConnection {
  readonly #client: Client;
  readonly #opened: OpenedTransport;

  private constructor(client: Client, opened: OpenedTransport) {
    this.#client = client;
    this.#opened = opened;
  }

  /** Connects; what was begun in vain is closed again. Throws as the SDK does. */
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
        // Results are judged by the endpoint's own schema; a stranger's is not even compiled.
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

  /** The end of what a child process wrote to its standard error, on one line. */
  get lastWords(): string {
    return this.#opened.lastWords();
  }

  /** True where an empty cursor is one as any other.   MCP "Pagination" */
  get #isEmptyCursor(): boolean {
    return this.#client.getProtocolEra() === "modern";
  }

  /** All tools of the server; throws where they are too many, or no tools. */
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

  /** Calls a tool. Throws as the SDK does. */
  async call(request: ToolRequest): Promise<ToolAnswer> {
    let answer = await this.#callOnce(request);
    // A server that asks for nothing but its own note wants to be called once more.
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

  /** Tells whether a call failed because its server has forgotten the session.   MCP 2025-11-25 "Session Management" */
  isSessionGone(error: unknown): boolean {
    const isNotFound = error instanceof SdkHttpError && error.status === 404;
    return isNotFound && this.#opened.transport.sessionId !== undefined;
  }

  /** Ends the connection, its session or child process with it. Never rejects. */
  async close(): Promise<void> {
    this.#client.onclose = () => undefined;
    await this.#opened.leave();
    await this.#client.close().catch(() => undefined);
    await this.#opened.close().catch(() => undefined);
  }
}

/** The library leaves out the status of a refused POST, which may be all that the server says. */
function connectReason(error: unknown): string {
  if (isStartFault(error)) return startFault(error, error.path);
  const reason = reasonOf(error).trimEnd().replace(/:$/, "");
  if (!(error instanceof SdkHttpError)) return reason;
  const { status } = error;
  // MCP 2025-11-25 "Backwards Compatibility": so an address of the older transport answers.
  const isOther = status === 404 || status === 405;
  const meaning =
    "there is no Streamable HTTP at this address, and HTTP+SSE of 2024-11-05 is not called";
  return isOther ? `HTTP ${status}: ${meaning}: ${reason}` : `HTTP ${status}: ${reason}`;
}

/** As the platform throws it. */
function isStartFault(error: unknown): error is Error & { readonly path: string } {
  return error instanceof Error && "path" in error && "spawnargs" in error;
}

function isRepeat(answer: ToolAnswer): answer is InputRequired {
  return answer.kind === "input-required" && Object.keys(answer.requests).length === 0;
}

/** The endpoint's own schema judges the output: the library would refuse one text in its place. */
function withoutOutput({ outputSchema: _, ...rest }: ToolDefinition): object {
  return rest;
}

/** A server's answer is not what its protocol says. */
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
