/**
 * Answers to plain requests, in the library's format: the result with its type and the server's name, or an error. The
 * list of tools is inserted as encoded by the pipeline, once for all readers of the same page.   MCP "Base Protocol"
 */
import { ProtocolError } from "@modelcontextprotocol/server";
import { rewriteExactly } from "../../base/exact-numbers.ts";
import { encodingJson, isLongJson } from "../../base/json-pieces.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import { sourceOf } from "../../base/kept-text.ts";
import { inSlices } from "../../base/paced.ts";
import { VERSION } from "../../base/version.ts";
import type { ToolCall } from "./ask.ts";
import type { McpRequest } from "./front.ts";
import type { PlainRequest } from "./plain-request.ts";
import { refuseRequest } from "./protocol-errors.ts";
import { declaresTasks } from "./tasks/task-requests.ts";
import { callTool } from "./tools/call-tool.ts";
import { askForTools, listCaching } from "./tools/list-tools.ts";

/** Registers a listener for the client's leaving before it is answered. */
export type OnLeave = (listener: () => void) => void;

export interface PlainAnswer {
  readonly type: "application/json" | "text/event-stream";
  readonly body: string | Buffer;
  /** The id of its session. */
  readonly sessionId?: string;
}

const SERVER_INFO = "io.modelcontextprotocol/serverInfo";

/** Codes of errors with HTTP status 200; some others have a status of their own. */
const PLAIN_CODES: ReadonlySet<number> = new Set([-32_000, -32_602, -32_603]);

interface PlainAsked {
  readonly request: McpRequest;
  readonly plain: PlainRequest;
  onLeave: OnLeave;
  /** True if the client can ask its user. */
  readonly canElicit: boolean;
  /** The server's name in the result; undefined in a session of the older protocol. */
  readonly serverId: string | undefined;
}

type PlainCall = Extract<PlainRequest, { kind: "call" }>;
type PlainList = Extract<PlainRequest, { kind: "list" }>;

/** Answers a plain request. Undefined if the result is not plain: the library then writes `request.given`. */
export async function answerPlain(asked: PlainAsked): Promise<string | Buffer | undefined> {
  const { request, plain, serverId } = asked;
  const { id } = plain;
  try {
    if (plain.kind === "list") return await answerList(asked, plain);
    const result: JsonRecord = await callTool(request, callOf(asked, plain));
    if (result["resultType"] === undefined) {
      return await writeResult(result, (one) => ({
        ...{ result: completed(one, serverId), jsonrpc: "2.0", id },
      }));
    }
    request.given = () => result;
    return undefined;
  } catch (error) {
    const told = error instanceof ProtocolError ? error : request.front.reportFault(error, id);
    const { code, message, data } = told;
    if (!PLAIN_CODES.has(code)) {
      request.given = () => {
        throw told;
      };
      return undefined;
    }
    return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data } });
  }
}

/** Writes a result into its message, a long one in steps, with the tool's exact numbers. */
function writeResult(
  result: JsonRecord,
  messageOf: (result: JsonRecord) => JsonRecord,
): string | Promise<Buffer> {
  const json = sourceOf(result["structuredContent"]);
  if (json === undefined) {
    const message = messageOf(result);
    return isLongJson(message) ? inSlices(encodingJson(message)) : JSON.stringify(message);
  }
  return rewriteExactly(Buffer.from(json), (structuredContent) =>
    messageOf({ ...result, structuredContent }),
  );
}

function callOf({ onLeave, canElicit, serverId }: PlainAsked, plain: PlainCall): ToolCall {
  const { name, arguments: given, meta } = plain;
  const isCurrent = serverId !== undefined;
  return {
    ...{ name, arguments: given, meta, onLeave, canElicit, isCurrent },
    knowsTasks: isCurrent && declaresTasks(meta),
    // A message with these members is not plain.
    ...{ requestState: undefined, inputResponses: undefined },
  };
}

/** Adds the members that only the current protocol has. */
function completed(result: JsonRecord, serverId: string | undefined): JsonRecord {
  if (serverId === undefined) return result;
  const meta = result["_meta"] as JsonRecord | undefined;
  return {
    ...result,
    resultType: "complete",
    _meta: { ...meta, [SERVER_INFO]: { name: serverId, version: VERSION } },
  };
}

/** Inserts the encoded page into the result. */
async function answerList(
  { request, serverId }: PlainAsked,
  { id, cursor }: PlainList,
): Promise<string | Buffer> {
  const isCurrent = serverId !== undefined;
  const answer = await askForTools(request, cursor, isCurrent);
  if (answer === undefined || answer.response.status !== 200) throw refuseRequest(request, answer);
  const { body } = answer.response;
  const said = isCurrent ? completed(listCaching(request.front), serverId) : {};
  const rest = isCurrent ? `,${JSON.stringify(said).slice(1)}` : "}";
  const [before, after] = [`{"result":`, `${rest},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`];
  if (typeof body === "string") return before + body.slice(0, -1) + after;
  return Buffer.concat([Buffer.from(before), body.subarray(0, -1), Buffer.from(after)]);
}
