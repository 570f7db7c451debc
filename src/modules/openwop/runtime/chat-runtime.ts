/**
 * Takes turns with a model behind a chat-completions server: it may call tools, up to a bound, before it answers. Its
 * reasoning is passed on as it arrives if the host streams. Nothing that a model sends is trusted before validation.
 */
import { parseJson, textIn } from "../../../base/json-value.ts";
import { tellingOf } from "../../../base/leaving.ts";
import { type Failure, failed } from "../agent-executor.ts";
import {
  type AgentRuntime,
  type RuntimeAnswer,
  type RuntimeTurn,
  sumOfUsage,
  type TokenUsage,
  type ToolAnswer,
} from "./agent-runtime.ts";
import { complete } from "./chat-model.ts";
import {
  assistantMessage,
  type ChatMessage,
  chatQuestion,
  type NamedTools,
  nameTools,
  openingMessages,
  parseArguments,
  readModelAnswer,
  toolMessage,
} from "./chat-prompt.ts";
import type { Completion, RequestedCall } from "./completion.ts";
import { askModel, type ModelServer } from "./model-server.ts";

/** The available models and how they are called. */
interface ChatRuntimeOptions {
  readonly server: ModelServer;
  /** Model name by model class; `default` for every other class. */
  readonly models: ReadonlyMap<string, string>;
  readonly retries: number;
  readonly isStreaming: boolean;
  /** The maximum number of answers with tool calls. */
  readonly maxRounds: number;
}

/** Creates the runtime, which owns the connection to the server. */
export function createChatRuntime(options: ChatRuntimeOptions): AgentRuntime {
  return {
    takeTurn: (turn) => new ChatTurn(options, turn).take(),
    close: () => options.server.close(),
  };
}

/** The model of a class; without any configured model, the class itself is the model's name. */
export function modelOf(models: ReadonlyMap<string, string>, name: string): string | undefined {
  return models.size === 0 ? name : (models.get(name) ?? models.get("default"));
}

/** The provider's name in telemetry. */
const PROVIDER = "openai-compatible";

const CUT = "the model's answer was cut off: it is longer than it was allowed to be";

class ChatTurn {
  readonly #options: ChatRuntimeOptions;
  readonly #turn: RuntimeTurn;
  readonly #tools: NamedTools;
  readonly #messages: ChatMessage[];
  #usage: TokenUsage | undefined;

  constructor(options: ChatRuntimeOptions, turn: RuntimeTurn) {
    this.#options = options;
    this.#turn = turn;
    this.#tools = nameTools(turn.tools);
    this.#messages = [...openingMessages(turn)];
  }

  async take(): Promise<RuntimeAnswer> {
    const model = this.#chooseModel();
    if (model === undefined) {
      return failed("model_not_available", "this server is not configured with that model");
    }
    for (let round = 0; round <= this.#options.maxRounds; round += 1) {
      const spoken = new SpokenReasoning();
      const completion = await this.#ask(model, spoken);
      if ("kind" in completion) return this.#end(completion);
      this.#usage = sumOfUsage(this.#usage, completion.usage);
      if (completion.isRefused) return this.#end(refused());
      if (completion.isCut) return this.#end(failed("model_malformed_response", CUT));
      await this.#turn.reasoning.close();
      if (completion.calls.length === 0) return this.#answer(completion, spoken);
      await this.#call(completion);
    }
    const times = this.#options.maxRounds + 1;
    const message = `the model was asked ${times} times, and called tools each time`;
    return this.#end(failed("tool_limit_exceeded", message));
  }

  /** A run may only choose a model that the operator configured. */
  #chooseModel(): string | undefined {
    const { models } = this.#options;
    const { agent, options } = this.#turn;
    if (options.model === undefined) return modelOf(models, agent.modelClass);
    return [...models.values()].find((model) => model === options.model);
  }

  #ask(name: string, spoken: SpokenReasoning): Promise<Completion | Failure> {
    const { server, retries, isStreaming } = this.#options;
    const { owner, reasoning, signal } = this.#turn;
    let isCommitted = false;
    const say = async (piece: string): Promise<void> => {
      if (piece === "") return;
      isCommitted = true;
      await reasoning.add(piece);
    };
    const listener = { reasoning: say, content: (piece: string) => say(spoken.push(piece)) };
    const model = { server, owner, name, isStreaming };
    const question = chatQuestion(this.#messages, this.#tools, this.#turn);
    const leaving = { kind: "model", to: PROVIDER, operation: name } as const;
    const ask = (): Promise<Completion> =>
      tellingOf(
        leaving,
        () => complete(model, question, listener),
        ({ usage }) => usage ?? {},
      );
    return askModel(ask, { retries, signal, isCommitted: () => isCommitted });
  }

  async #call(completion: Completion): Promise<void> {
    this.#messages.push(assistantMessage(completion));
    for (const call of completion.calls) {
      this.#messages.push(toolMessage(call, await this.#callOne(call)));
    }
  }

  #callOne({ name, arguments: written }: RequestedCall): Promise<ToolAnswer> {
    const parsed = parseArguments(written);
    if (parsed.fault !== undefined) {
      const message = `the arguments ${parsed.fault}`;
      return Promise.resolve(failed("invalid_arguments", message));
    }
    return this.#turn.callTool(this.#tools.get(name)?.toolId ?? name, parsed.value);
  }

  #answer({ content }: Completion, spoken: SpokenReasoning): RuntimeAnswer {
    const read = readModelAnswer(content, this.#turn.returnSchema);
    if (read.kind === "malformed") return this.#end(read);
    if (read.kind === "refused") return this.#end(refused());
    const { reasoning, ...answer } = read;
    const isUnspoken = reasoning !== undefined && !spoken.hasSpoken;
    return this.#end({ ...answer, ...(isUnspoken ? { reasoning } : {}) });
  }

  /** Not every server reports its usage. */
  #end(answer: RuntimeAnswer): RuntimeAnswer {
    return this.#usage === undefined ? answer : { ...answer, usage: this.#usage };
  }
}

function refused(): Failure {
  return failed("model_refused", "the model refused to answer");
}

type Mode = "undecided" | "plain" | "member" | "none";

/** The maximum length of JSON examined before giving up on finding its reasoning. */
const MAX_UNDECIDED = 256;
const FENCE = /^```[a-z]{0,16}\s*/;
const FIRST_MEMBER = /^\{\s*"reasoning"\s*:\s*"/;
const OTHER_MEMBER = /^\{\s*(?:\}|"(?!reasoning")[^"\\]{0,128}"|"reasoning"\s*:\s*[^\s"])/;

/**
 * Extracts reasoning from an answer as it arrives: the member "reasoning" of a JSON answer if it comes first, or the
 * whole of a plain text.
 */
class SpokenReasoning {
  #mode: Mode = "undecided";
  #held = "";
  #hasSpoken = false;

  /** Tells whether any reasoning was found. */
  get hasSpoken(): boolean {
    return this.#hasSpoken;
  }

  /** Returns the reasoning that a further piece completes. */
  push(piece: string): string {
    this.#held += piece;
    if (this.#mode === "undecided") this.#decide();
    const said = this.#read();
    this.#hasSpoken ||= said !== "";
    return said;
  }

  #read(): string {
    switch (this.#mode) {
      case "plain":
        return this.#release(this.#held.length);
      case "member":
        return this.#readMember();
      case "none":
        this.#held = "";
        return "";
      case "undecided":
        return "";
    }
  }

  #decide(): void {
    const text = this.#held.trimStart();
    const json = text.replace(FENCE, "");
    if (json === "" || (text.startsWith("`") && text.length < 4)) {
      if (this.#held.length > MAX_UNDECIDED) this.#mode = "none";
      return;
    }
    const member = FIRST_MEMBER.exec(json);
    if (member !== null) {
      this.#mode = "member";
      this.#held = json.slice(member[0].length);
    } else if (!/^[{["]/.test(json)) this.#mode = text === json ? "plain" : "none";
    else if (!json.startsWith("{") || OTHER_MEMBER.test(json) || json.length > MAX_UNDECIDED) {
      this.#mode = "none";
    }
  }

  /** An escape split between pieces is held until it is complete. */
  #readMember(): string {
    let end = 0;
    while (end < this.#held.length && this.#held[end] !== '"') {
      const length = this.#held[end] !== "\\" ? 1 : this.#held[end + 1] === "u" ? 6 : 2;
      if (end + length > this.#held.length) break;
      end += length;
    }
    const isClosed = this.#held[end] === '"';
    // Undefined if the text is not valid in a JSON string.
    const decoded = textIn(parseJson(`"${this.#release(end)}"`));
    if (isClosed || decoded === undefined) this.#mode = "none";
    return decoded ?? "";
  }

  #release(length: number): string {
    const released = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    return released;
  }
}
