/** The prompt of a model: the agent's own and how to answer, the task, and the tools there are. */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
} from "@ai-sdk/provider";
import { parseBoundedJson } from "../../../identity/json-document.ts";
import type { OfferedTool, RuntimeTurn, ToolAnswer } from "./agent-runtime.ts";
import type { Completion, RequestedCall } from "./completion.ts";

/** A question, as the AI SDK asks every model. */
export type ChatQuestion = LanguageModelV3CallOptions;

/** A message of a chat. */
export type ChatMessage = LanguageModelV3Message;

/** Tools under the names that chat completions allow. */
export type NamedTools = ReadonlyMap<string, OfferedTool>;

const MAX_NAME = 64;
/** The model need not read more of an answer than this. */
const MAX_OUTCOME = 65_536;

/** The messages that a turn begins with. */
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

/** `agtp:BOOK /rooms/{id}` is `book_rooms_id`; two that would be called alike get numbers. */
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

/** The question behind so many messages. */
export function chatQuestion(
  messages: readonly ChatMessage[],
  tools: NamedTools,
  { options, signal }: Pick<RuntimeTurn, "options" | "signal">,
): ChatQuestion {
  const { temperature, maxTokens } = options;
  return {
    prompt: [...messages],
    tools: [...tools].map(describeTool),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    abortSignal: signal,
  };
}

function describeTool([name, tool]: [string, OfferedTool]): LanguageModelV3FunctionTool {
  const { description, inputSchema } = tool;
  // The SDK knows the schemas of draft 7 alone, and sends on whatever it is given.
  return { type: "function", name, description, inputSchema: inputSchema as SdkSchema };
}

type SdkSchema = LanguageModelV3FunctionTool["inputSchema"];

/** The model's own words, as it is reminded of them. */
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

/** A call's arguments, or what is wrong with them; none at all are none. */
export function parseArguments(written: string): ReturnType<typeof parseBoundedJson> {
  return parseBoundedJson(written === "" ? "{}" : written);
}

/** The outcome of a call, as the model is told. */
export function toolMessage({ id, name }: RequestedCall, answer: ToolAnswer): ChatMessage {
  const told = answer.kind === "returned" ? answer.outcome : { error: answer.error };
  const value = JSON.stringify(told).slice(0, MAX_OUTCOME);
  const output = { type: "text" as const, value };
  return {
    role: "tool",
    content: [{ type: "tool-result", toolCallId: id, toolName: name, output }],
  };
}
