/** What a model is asked: the agent's prompt and how to answer, the task, and the tools there are. */
import type { JsonRecord } from "../../../json-value.ts";
import type { OfferedTool, RuntimeTurn, ToolAnswer } from "./agent-runtime.ts";
import type { Completion, RequestedCall } from "./completion.ts";

/** A message of a chat. */
export type ChatMessage = JsonRecord;

/** Tools under the names that chat completions allow. */
export type NamedTools = ReadonlyMap<string, OfferedTool>;

const MAX_NAME = 64;
/** The model need not read more of an answer than this. */
const MAX_OUTCOME = 65_536;

/** The messages that a turn begins with. */
export function openingMessages(turn: RuntimeTurn): readonly ChatMessage[] {
  const { prompt, task, history } = turn;
  return [
    { role: "system", content: `${prompt}\n\n${instructions(turn)}` },
    { role: "user", content: typeof task === "string" ? task : JSON.stringify(task ?? null) },
    ...history.map(({ role, content }) => ({
      role: role === "agent" ? "assistant" : "user",
      content,
    })),
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

/** The body of a request. */
export function chatRequest(
  model: string,
  messages: readonly ChatMessage[],
  tools: NamedTools,
  { options, isStreaming }: Pick<RuntimeTurn, "options"> & { readonly isStreaming: boolean },
): string {
  const { temperature, maxTokens } = options;
  return JSON.stringify({
    model,
    messages,
    ...(tools.size === 0 ? {} : { tools: [...tools].map(describeTool) }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    stream: isStreaming,
    ...(isStreaming ? { stream_options: { include_usage: true } } : {}),
  });
}

function describeTool([name, { description, inputSchema }]: [string, OfferedTool]): JsonRecord {
  return { type: "function", function: { name, description, parameters: inputSchema } };
}

/** The model's own words, as it is reminded of them. */
export function assistantMessage({ content, calls }: Completion): ChatMessage {
  return {
    role: "assistant",
    content: content === "" ? null : content,
    tool_calls: calls.map(({ id, name, arguments: written }) => ({
      ...{ id, type: "function" },
      function: { name, arguments: written },
    })),
  };
}

/** What a call came to, as the model is told. */
export function toolMessage({ id }: RequestedCall, answer: ToolAnswer): ChatMessage {
  const told = answer.kind === "returned" ? answer.outcome : { error: answer.error };
  return { role: "tool", tool_call_id: id, content: JSON.stringify(told).slice(0, MAX_OUTCOME) };
}
