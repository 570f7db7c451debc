/**
 * Builds a model's prompt from the agent's own prompt, the answer format, the task and the tools, and reads its final
 * text: the requested object, the bare result, or plain text.
 */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
} from "@ai-sdk/provider";
import { given, isRecord, type JsonRecord, wellFormed } from "../../../base/json-value.ts";
import { parseBoundedJson } from "../../../identity/json-document.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import { readHandoff } from "../agent-executor.ts";
import type { OfferedTool, RuntimeAnswer, RuntimeTurn, ToolAnswer } from "./agent-runtime.ts";
import type { Completion, RequestedCall } from "./completion.ts";

/** A request, as the AI SDK passes it to any model. */
export type ChatQuestion = LanguageModelV3CallOptions;

export type ChatMessage = LanguageModelV3Message;

/** Tools by the names that chat completions allow. */
export type NamedTools = ReadonlyMap<string, OfferedTool>;

const MAX_NAME = 64;
/** The maximum length of a tool's outcome shown to the model. */
const MAX_OUTCOME = 65_536;

/** The first messages of a turn. */
export function openingMessages(turn: RuntimeTurn): readonly ChatMessage[] {
  const { prompt, task, history } = turn;
  const user = typeof task === "string" ? task : JSON.stringify(task ?? null);
  return [
    { role: "system", content: `${prompt}\n\n${instructions(turn)}` },
    { role: "user", content: [textPart(user)] },
    ...history.map(
      ({ role, content }): ChatMessage => ({
        role: role === "agent" ? "assistant" : "user",
        content: [textPart(content)],
      }),
    ),
  ];
}

function instructions({ returnSchema }: RuntimeTurn): string {
  return [
    "Once you have what you need, answer with one JSON object and nothing around it. Its members:",
    '"reasoning": in a few sentences, how you came to the result. It comes first.',
    '"result": what the task asks for.',
    '"confidence": a number from 0 to 1, how sure you are of the result.',
    ...(returnSchema === undefined
      ? []
      : [`The result satisfies this JSON Schema: ${JSON.stringify(returnSchema.schema)}`]),
  ].join("\n");
}

function textPart(text: string): { type: "text"; text: string } {
  return { type: "text", text };
}

/** Names tools: `agtp:BOOK /rooms/{id}` becomes `book_rooms_id`; duplicates get a number. */
export function nameTools(tools: readonly OfferedTool[]): NamedTools {
  const named = new Map<string, OfferedTool>();
  for (const tool of tools) {
    const words = tool.toolId.replace(/^agtp:/, "").match(/[A-Za-z0-9-]+/g) ?? [];
    const plain = words.join("_").toLowerCase().slice(0, MAX_NAME);
    let name = plain;
    for (let count = 2; named.has(name); count += 1) {
      const mark = `_${count}`;
      name = plain.slice(0, MAX_NAME - mark.length) + mark;
    }
    named.set(name, tool);
  }
  return named;
}

/** Creates the request with the messages so far. */
export function chatQuestion(
  messages: readonly ChatMessage[],
  tools: NamedTools,
  { options, signal }: Pick<RuntimeTurn, "options" | "signal">,
): ChatQuestion {
  const { temperature, maxTokens } = options;
  return {
    prompt: [...messages],
    tools: [...tools].map(describeTool),
    ...given({ temperature, maxOutputTokens: maxTokens }),
    abortSignal: signal,
  };
}

function describeTool([name, tool]: [string, OfferedTool]): LanguageModelV3FunctionTool {
  const { description, inputSchema } = tool;
  // The SDK's type only covers draft 7, but any schema is passed on.
  return { type: "function", name, description, inputSchema: inputSchema as SdkSchema };
}

type SdkSchema = LanguageModelV3FunctionTool["inputSchema"];

/** A model's earlier answer as a message. */
export function assistantMessage({ content, calls }: Completion): ChatMessage {
  return {
    role: "assistant",
    content: [
      ...(content === "" ? [] : [textPart(content)]),
      ...calls.map(({ id, name, arguments: written }) => {
        const parsed = parseArguments(written);
        const input = parsed.fault === undefined ? parsed.value : written;
        return { type: "tool-call" as const, toolCallId: id, toolName: name, input };
      }),
    ],
  };
}

/** Parses a call's arguments; an empty text means no arguments. */
export function parseArguments(written: string): ReturnType<typeof parseBoundedJson> {
  return parseBoundedJson(written === "" ? "{}" : written);
}

/** The outcome of a call as a message. */
export function toolMessage({ id, name }: RequestedCall, answer: ToolAnswer): ChatMessage {
  const told = answer.kind === "returned" ? answer.outcome : { error: answer.error };
  const value = wellFormed(JSON.stringify(told).slice(0, MAX_OUTCOME));
  const output = { type: "text" as const, value };
  return {
    role: "tool",
    content: [{ type: "tool-result", toolCallId: id, toolName: name, output }],
  };
}

type Answered = Extract<RuntimeAnswer, { kind: "answered" }>;
type Malformed = Extract<RuntimeAnswer, { kind: "malformed" }>;

/** A refusal in the requested form. */
interface Refused {
  readonly kind: "refused";
}

const MEMBERS: ReadonlySet<string> = new Set([
  "reasoning",
  "decision",
  "confidence",
  "result",
  "handoff",
]);

/** Matches text that was meant as JSON: it begins like an object or has the requested members. */
const MEANT_AS_JSON = /^\s*(?:```[a-z]{0,16}\s*)?\{|"(?:result|confidence)"\s*:/;

/** Reads a model's final text; if it may be an envelope or a bare result, the schema decides. */
export function readModelAnswer(
  content: string,
  schema: CompiledSchema | undefined,
): Answered | Malformed | Refused {
  if (content.trim() === "") return malformed(content, "the model's answer is empty");
  const value = findJson(content);
  if (value === undefined) {
    // Plain text is no alternative here: a stated confidence would be lost.
    return MEANT_AS_JSON.test(content)
      ? malformed(content, "the model's answer is neither JSON nor plain text")
      : { kind: "answered", result: content };
  }
  const plain: Answered = { kind: "answered", result: value };
  if (!isRecord(value)) return plain;
  const isResult = schema !== undefined && schema.check(value) === undefined;
  if (isRefusal(value) && !isResult) return { kind: "refused" };
  if (!isEnveloped(value)) return plain;
  const isTaken = schema === undefined || schema.check(value["result"]) === undefined;
  return isTaken || schema.check(value) !== undefined ? readEnvelope(value) : plain;
}

function malformed(content: string, message: string): Malformed {
  return { kind: "malformed", content, message };
}

/** Tells whether an object has a refusal in place of a result. */
function isRefusal({ refusal, result = null, ...others }: JsonRecord): boolean {
  const isSaid = typeof refusal === "string" && refusal !== "" && result === null;
  return isSaid && Object.keys(others).every((name) => MEMBERS.has(name));
}

function isEnveloped(value: JsonRecord): boolean {
  return Object.hasOwn(value, "result") && Object.keys(value).every((name) => MEMBERS.has(name));
}

function readEnvelope({ result, reasoning, decision, confidence, handoff }: JsonRecord): Answered {
  const read = readHandoff(handoff);
  return {
    kind: "answered",
    result,
    ...(typeof reasoning === "string" ? { reasoning } : {}),
    ...(decision === undefined || decision === null ? {} : { decision }),
    ...readNumber(confidence),
    // An empty name is no handoff.
    ...(read.handoff?.toAgentId === "" ? {} : read),
  };
}

/** Models may quote numbers. */
function readNumber(written: unknown): { readonly confidence?: unknown } {
  if (written === undefined || written === null) return {};
  const isText = typeof written === "string" && written.trim() !== "";
  const number = isText ? Number(written) : Number.NaN;
  return { confidence: Number.isNaN(number) ? written : number };
}

const FENCE = /^```[a-z]{0,16}[^\S\n]*\n/;
const END_OF_FENCE = "\n```";

/** Models may fence JSON or put words around it. */
function findJson(content: string): unknown {
  const text = content.trim();
  const [fence] = FENCE.exec(text) ?? [];
  const isFenced = fence !== undefined && text.endsWith(END_OF_FENCE);
  const inner = isFenced ? text.slice(fence.length, -END_OF_FENCE.length) : text;
  const whole = parseBoundedJson(inner);
  if (whole.fault === undefined) return whole.value;
  const start = text.indexOf("{");
  const end = text.lastIndexOf("}");
  if (start === -1 || end < start) return undefined;
  const part = parseBoundedJson(text.slice(start, end + 1));
  return part.fault === undefined ? part.value : undefined;
}
