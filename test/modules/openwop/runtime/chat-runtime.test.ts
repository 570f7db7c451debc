/** Turns that a model takes, with a server over HTTP that answers well, badly, late and never. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createChatRuntime } from "../../../../src/modules/openwop/runtime/chat-runtime.ts";
import { createModelConnection } from "../../../../src/modules/openwop/runtime/model-server.ts";
import { makeCertificate, type TestCertificate } from "../../../support/certificate.ts";
import { growthOf, NEARLY_LINEAR } from "../../../support/growth.ts";
import {
  callsFor,
  json,
  type ModelAnswer,
  says,
  startModelServer,
  startSecureModelServer,
  status,
  streams,
  type TestModelServer,
} from "../../../support/model-server.ts";
import { type TakenTurn, type TurnOptions, takeTurn } from "../../../support/openwop-turn.ts";
import { PATIENCE } from "../../../support/patience.ts";

const BOOK = "agtp:BOOK /room";
const CANARY = "sk-canary-rfc0064-do-not-leak-xyz789";
const RETURN = {
  type: "object",
  required: ["ok"],
  properties: { ok: { type: "boolean" } },
  additionalProperties: false,
} as const;

interface ChatOptions extends Omit<TurnOptions, "runtime"> {
  readonly retries?: number;
  readonly isStreaming?: boolean;
  readonly timeoutMs?: number;
  readonly models?: Readonly<Record<string, string>>;
  /** Of a server over HTTPS. */
  readonly certificate?: TestCertificate;
  readonly ca?: string;
}

/** Has a model take a turn. */
async function chat(
  answers: readonly ModelAnswer[],
  options: ChatOptions = {},
): Promise<TakenTurn & { readonly server: TestModelServer }> {
  const { retries = 0, isStreaming = false, timeoutMs = 5_000, models, ...others } = options;
  const { certificate, ca, ...turn } = others;
  const server =
    certificate === undefined
      ? await startModelServer(...answers)
      : await startSecureModelServer(certificate, ...answers);
  const connection = createModelConnection({
    ...{ baseUrl: server.baseUrl, apiKey: "the-model-key", ca, timeoutMs },
  });
  const runtime = createChatRuntime({
    models: new Map(Object.entries(models ?? { default: "small" })),
    ...{ server: connection, retries, isStreaming, maxRounds: 4 },
  });
  onTestFinished(() => runtime.close());
  const taken = await takeTurn({
    ...{ ...turn, runtime: (one) => runtime.takeTurn(one) },
    reasoning: { streaming: isStreaming, ...turn.reasoning },
  });
  return { ...taken, server };
}

/** A stream of these events, with no more to it. */
function ends(events: readonly unknown[]): ModelAnswer {
  return (response) => {
    response.setHeader("content-type", "text/event-stream");
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  };
}

const finished = (reason: string): unknown => ({ choices: [{ delta: {}, finish_reason: reason }] });

const errorOf = ({ outcome }: TakenTurn): unknown =>
  outcome.kind === "failed" ? outcome.error.code : outcome;

describe("a model that answers", () => {
  it("is asked with the agent's prompt, the task and the key", async () => {
    const { server } = await chat([says({ result: 1 })], {
      ...{ task: { order: "sail" }, returnSchema: RETURN },
      configurable: { temperature: 0.2, maxTokens: 100 },
    });
    const [request] = server.requests;
    expect(request).toMatchObject({
      path: "/v1/chat/completions",
      authorization: "Bearer the-model-key",
      body: { model: "small", temperature: 0.2, max_tokens: 100 },
    });
    expect(request?.body.stream).not.toBe(true);
    expect(request?.body.messages[0]).toMatchObject({
      role: "system",
      content: expect.stringMatching(/^You are an agent\.[\s\S]*additionalProperties/),
    });
    expect(request?.body.messages[1]).toEqual({ role: "user", content: '{"order":"sail"}' });
    expect(request?.body).not.toHaveProperty("tools");
  });

  it("gives a result with its reasoning, decision and confidence", async () => {
    const answer = {
      ...{ reasoning: "It rains.", decision: "stay", confidence: 0.9, result: { ok: true } },
    };
    const { outcome, payload, types } = await chat([says(answer)], { returnSchema: RETURN });
    expect(outcome).toEqual({ kind: "completed", result: { ok: true } });
    expect(types).toEqual(["agent.reasoned", "agent.decided"]);
    expect(payload("agent.reasoned")["reasoning"]).toBe("It rains.");
    expect(payload("agent.decided")).toMatchObject({
      ...{ decision: "stay", confidence: 0.9 },
      usage: { inputTokens: 10, outputTokens: 5 },
    });
  });

  it.each([
    ["the result alone", '{"ok": true}'],
    ["a fenced one", '```json\n{"ok": true}\n```'],
    ["one with words around it", 'Here it is: {"ok": true}. Good luck!'],
    ["one in an envelope", '{"result": {"ok": true}}'],
  ])("may give %s", async (_, content) => {
    const { outcome } = await chat([says(content)], { returnSchema: RETURN });
    expect(outcome).toEqual({ kind: "completed", result: { ok: true } });
  });

  it("may give a text where nothing else is asked for, which is its reasoning too", async () => {
    const { outcome, payload } = await chat([says("Set sail at noon.")]);
    expect(outcome).toEqual({ kind: "completed", result: "Set sail at noon." });
    expect(payload("agent.reasoned")["reasoning"]).toBe("Set sail at noon.");
  });

  it.each([
    ["nothing", ""],
    ["an object with a slip in it", '{"result": 1, "confidence": 0.1,}'],
    ["such an object with words around it", 'Well: {"result": 1, "confidence": 0.1,} there.'],
  ])(
    "is asked once more when it answers %s, and fails the turn the second time",
    async (_, slip) => {
      const mended = await chat([says(slip), says({ result: 1, confidence: "0.9" })]);
      expect(mended.outcome).toEqual({ kind: "completed", result: 1 });
      expect(mended.payload("agent.decided")).toMatchObject({
        ...{ confidence: 0.9, usage: { inputTokens: 20, outputTokens: 10 } },
      });
      const failed = await chat([says(slip)]);
      expect(failed.outcome).toMatchObject({
        error: {
          code: "model_malformed_response",
          details: { usage: { inputTokens: 20, outputTokens: 10 } },
        },
      });
      expect(failed.types).not.toContain("agent.decided");
    },
  );

  it("is not believed when it was cut off", async () => {
    const message = { content: "The room costs" };
    const taken = await chat([json({ choices: [{ message, finish_reason: "length" }] })]);
    expect(errorOf(taken)).toBe("model_malformed_response");
    expect(taken.server.requests).toHaveLength(1);
  });

  it("is chosen by class, then by default, then by the run among those", async () => {
    const models = { coding: "coder", default: "small" };
    const agents = [{ modelClass: "coding" }];
    const byClass = await chat([says("{}")], { agents, models });
    expect(byClass.server.requests[0]?.body.model).toBe("coder");
    const byRun = await chat([says("{}")], { models, configurable: { model: "coder" } });
    expect(byRun.server.requests[0]?.body.model).toBe("coder");
    const unnamed = await chat([says("{}")], { agents, models: {} });
    expect(unnamed.server.requests[0]?.body.model).toBe("coding");
    const another = await chat([says("{}")], { models, configurable: { model: "expensive" } });
    expect(errorOf(another)).toBe("model_not_available");
    expect(another.server.requests).toEqual([]);
  });

  it("is asked once more when its result breaks the schema", async () => {
    const { outcome, server } = await chat([says({ ok: "yes" }), says({ ok: true })], {
      returnSchema: RETURN,
    });
    expect(outcome).toEqual({ kind: "completed", result: { ok: true } });
    expect(server.requests[1]?.body.messages.slice(2)).toEqual([
      { role: "assistant", content: '{"ok":"yes"}' },
      { role: "user", content: expect.stringMatching(/\/ok must be boolean/) },
    ]);
    const stubborn = await chat([says({ ok: "yes" })], { returnSchema: RETURN });
    expect(errorOf(stubborn)).toBe("handoff_return_schema_violation");
    expect(stubborn.server.requests).toHaveLength(2);
  });
});

describe("a model that calls tools", () => {
  const tools: ChatOptions = { agents: [{ toolAllowlist: [BOOK] }], scopes: ["booking:room"] };

  it("is offered them under names that it may use, and told what they came to", async () => {
    const answers = [callsFor(["book_room", { nights: 2 }]), says({ result: "booked" })];
    const { outcome, types, server, calls } = await chat(answers, {
      ...tools,
      host: () => ({ status: 200, body: { reservation_id: "r1", key: CANARY } }),
    });
    expect(server.requests[0]?.body.tools?.[0]?.function).toMatchObject({ name: "book_room" });
    expect(outcome).toEqual({ kind: "completed", result: "booked" });
    expect(types).toEqual([
      ...["agent.reasoned", "agent.toolCalled", "agent.toolReturned", "agent.decided"],
    ]);
    expect(calls).toMatchObject([{ input: { nights: 2 } }]);
    expect(server.requests[1]?.body.messages.slice(2)).toMatchObject([
      { role: "assistant", tool_calls: [{ id: "call-0", function: { name: "book_room" } }] },
      { role: "tool", tool_call_id: "call-0", content: expect.stringContaining("r1") },
    ]);
    expect(JSON.stringify(server.requests)).not.toContain(CANARY);
  });

  it("is told when there is no such tool, and nothing is told of it", async () => {
    const answers = [callsFor(["transfer_funds", {}], ["agtp:BOOK /moon", {}]), says("done")];
    const { types, calls, server } = await chat(answers, tools);
    expect(types).toEqual(["agent.reasoned", "agent.decided"]);
    expect(calls).toEqual([]);
    expect(JSON.stringify(server.requests[1]?.body.messages)).toContain("tool_not_allowed");
  });

  it("is told when its arguments are garbage", async () => {
    const answers = [callsFor(["book_room", "{nights"], ["book_room", "[1]"]), says("done")];
    const { types, server } = await chat(answers, tools);
    expect(types).not.toContain("agent.toolCalled");
    expect(JSON.stringify(server.requests[1]?.body.messages)).toContain("invalid_arguments");
  });

  it("is stopped when it never ends", async () => {
    const taken = await chat([callsFor(["book_room", {}])], { ...tools, maxToolCalls: 2 });
    expect(errorOf(taken)).toBe("tool_limit_exceeded");
    expect(taken.calls).toHaveLength(2);
    expect(taken.server.requests).toHaveLength(5);
  });

  it("is not heard when it asks for a hundred calls at once", async () => {
    const many = Array.from({ length: 100 }, () => ["book_room", {}] as const);
    const taken = await chat([callsFor(...many)], tools);
    expect(errorOf(taken)).toBe("model_malformed_response");
    expect(taken.calls).toEqual([]);
  });
});

describe("a model that streams", () => {
  it("has its reasoning told while it comes, and its calls put together", async () => {
    const call = (piece: object) => ({ tool_calls: [{ index: 0, ...piece }] });
    const answers = [
      streams([
        { reasoning_content: "The guest wants " },
        { reasoning_content: "a room for two nights." },
        call({ id: "c1", function: { name: "book_room", arguments: "" } }),
        call({ function: { arguments: '{"nig' } }),
        call({ function: { arguments: 'hts": 2}' } }),
      ]),
      streams([
        { content: '{"reas' },
        { content: 'oning": "It is \\u00e' },
        { content: "9t\\n done" },
        { content: '.", "result": {"ok": true}}' },
      ]),
    ];
    const taken = await chat(answers, {
      ...{ agents: [{ toolAllowlist: [BOOK] }], scopes: ["booking:room"], isStreaming: true },
      returnSchema: RETURN,
    });
    const { events, outcome, calls, server, payload } = taken;
    expect(outcome).toEqual({ kind: "completed", result: { ok: true } });
    expect(calls).toMatchObject([{ input: { nights: 2 } }]);
    expect(server.requests[0]?.body).toMatchObject({ stream: true });
    const reasoned = events.filter(({ type }) => type === "agent.reasoned");
    expect(reasoned.map((one) => one.payload["reasoning"])).toEqual([
      "The guest wants a room for two nights.",
      "It is ét\n done.",
    ]);
    const deltas = events.filter(({ type }) => type === "agent.reasoning.delta");
    expect(deltas.map((one) => one.payload["delta"]).join("")).toBe(
      "The guest wants a room for two nights.It is ét\n done.",
    );
    expect(payload("agent.decided")["usage"]).toEqual({ inputTokens: 14, outputTokens: 6 });
  });

  it("is read no slower for thousands of blank pieces before its answer", async () => {
    const read = async (count: number): Promise<void> => {
      const blanks = Array.from({ length: count }, () => ({ content: " ".repeat(64) }));
      const { outcome } = await chat([streams([...blanks, { content: '{"result": 7}' }])], {
        ...{ isStreaming: true, timeoutMs: 100_000, turnTimeoutMs: 100_000 },
      });
      expect(outcome).toEqual({ kind: "completed", result: 7 });
    };
    expect(await growthOf(read, 1_250)).toBeLessThan(NEARLY_LINEAR);
  });

  it("may say of each of its calls that it is the first, if their ids differ", async () => {
    const call = (id: string, nights: number) => ({
      tool_calls: [
        { index: 0, id, function: { name: "book_room", arguments: `{"nights":${nights}}` } },
      ],
    });
    const taken = await chat([streams([call("a", 1), call("b", 2)]), says({ result: 1 })], {
      ...{ agents: [{ toolAllowlist: [BOOK] }], scopes: ["booking:room"], isStreaming: true },
    });
    expect(taken.calls.map(({ input }) => input["nights"])).toEqual([1, 2]);
  });

  it("may answer in one document all the same, and may leave the last line out", async () => {
    const whole = await chat([says({ result: 1 })], { isStreaming: true });
    expect(whole.outcome).toEqual({ kind: "completed", result: 1 });
    const lineless = await chat([streams([{ content: "7" }], { isDone: false })], {
      isStreaming: true,
    });
    expect(lineless.outcome).toEqual({ kind: "completed", result: 7 });
  });

  it("may stream though nobody asked it to, and may say nothing more behind its last line", async () => {
    const asked = await chat([streams([{ content: "7" }])]);
    expect(asked.outcome).toEqual({ kind: "completed", result: 7 });
    const silent: ModelAnswer = (response) => {
      response.setHeader("content-type", "text/event-stream");
      const choice = { delta: { content: "7" }, finish_reason: "stop" };
      response.write(`data: ${JSON.stringify({ choices: [choice] })}\n\ndata: [DO`);
      setImmediate(() => response.write("NE]\n\n"));
    };
    const patient = await chat([silent], { isStreaming: true, timeoutMs: 60_000 });
    expect(patient.outcome).toEqual({ kind: "completed", result: 7 });
  });

  it("may write its words in parts", async () => {
    const thinking = [{ type: "thinking", thinking: [{ type: "text", text: "It is seven. " }] }];
    const pieces = [{ content: thinking }, { content: [{ type: "text", text: '{"result": 7}' }] }];
    const { outcome, payload } = await chat([streams(pieces)], { isStreaming: true });
    expect(outcome).toEqual({ kind: "completed", result: 7 });
    expect(payload("agent.reasoned")["reasoning"]).toBe("It is seven. ");
  });

  it("is asked again when it breaks off before it has told anything", async () => {
    const answers = [
      streams([{ content: '{"result"' }], { isCut: true }),
      ends([{ choices: [{ delta: { content: '{"result"' }, finish_reason: null }] }]),
      streams([{ content: '{"result": 1}' }]),
    ];
    const taken = await chat(answers, { isStreaming: true, retries: 2 });
    expect(taken.outcome).toEqual({ kind: "completed", result: 1 });
  });

  const delta = (words: object): unknown => ({ choices: [{ delta: words, finish_reason: null }] });
  const call = (index: number, written: string): object => ({
    ...{ index, id: `c${index % 2}`, function: { name: "book_room", arguments: written } },
  });
  it.each<[string, readonly unknown[], string]>([
    ["refuses", [delta({ refusal: "I would rather not." }), finished("stop")], "model_refused"],
    ["is withheld", [delta({ content: "I" }), finished("content_filter")], "model_refused"],
    ["is cut off", [delta({ content: "I" }), finished("length")], "model_malformed_response"],
    ["errs", [{ error: { message: CANARY } }], "model_malformed_response"],
    ["errs in a word", [{ error: CANARY }], "model_malformed_response"],
    ["is an array", [[1]], "model_malformed_response"],
    ["has numbers for words", [delta({ content: 7 })], "model_malformed_response"],
    [
      "calls nothing by name",
      [delta({ tool_calls: [{ index: 0, id: "a", function: {} }] }), finished("tool_calls")],
      "model_malformed_response",
    ],
    [
      "asks for ten thousand calls in one event",
      [delta({ tool_calls: Array.from({ length: 10_000 }, (_, index) => call(index, "{}")) })],
      "model_malformed_response",
    ],
    [
      "asks for ten thousand calls one by one",
      Array.from({ length: 10_000 }, (_, index) => delta({ tool_calls: [call(index, "{}")] })),
      "model_malformed_response",
    ],
    [
      "never ends a call",
      Array.from({ length: 500 }, () => delta({ tool_calls: [call(0, "[".repeat(8_192))] })),
      "model_malformed_response",
    ],
    [
      "never ends its words",
      Array.from({ length: 500 }, () => delta({ content: "x".repeat(8_192) })),
      "model_malformed_response",
    ],
    [
      "says half of a character",
      [delta({ content: "\ud83d" }), finished("stop")],
      "model_malformed_response",
    ],
    [
      "thinks half of a character",
      [delta({ reasoning_content: "\ude00" }), finished("stop")],
      "model_malformed_response",
    ],
  ])("fails the turn when it %s", async (_, events, code) => {
    const taken = await chat([ends(events)], { isStreaming: true });
    expect(errorOf(taken)).toBe(code);
    expect(taken.calls).toEqual([]);
    expect(JSON.stringify([taken.outcome, taken.events])).not.toContain(CANARY);
  });

  it.each([
    ["a line", "x"],
    ["comments", ": wait\n\n"],
  ])("is not read for ever when it sends %s without an end", async (_, piece) => {
    const endless: ModelAnswer = (response) => {
      response.setHeader("content-type", "text/event-stream");
      const more = (): void => {
        while (!response.destroyed && response.write(piece.repeat(8_192)));
      };
      response.on("drain", more);
      more();
    };
    expect(errorOf(await chat([endless], { isStreaming: true }))).toBe("model_malformed_response");
  });

  it("is not asked again once something was told", async () => {
    const cut = streams([{ reasoning_content: "half a thought that is told " }], { isCut: true });
    const taken = await chat([cut], { isStreaming: true, retries: 3 });
    expect(errorOf(taken)).toBe("model_unavailable");
    expect(taken.server.requests).toHaveLength(1);
  });
});

describe("a server that does not answer well", () => {
  it.each([
    ["is busy", status(429, { "retry-after": "0" }), "model_rate_limited", 3],
    ["is broken", status(503, { "retry-after": "0" }), "model_unavailable", 3],
    ["refuses", status(401), "model_refused", 1],
    ["redirects", status(307, { location: "http://127.0.0.1:9/" }), "model_refused", 1],
    [
      "sends garbage",
      ((response) => response.end("<html>")) as ModelAnswer,
      "model_malformed_response",
      1,
    ],
    ["sends JSON that is nothing", json([1]), "model_malformed_response", 1],
    ["has no choices", json({ choices: [] }), "model_malformed_response", 1],
    ["has a choice of nothing", json({ choices: [null] }), "model_malformed_response", 1],
    [
      "nests for ever",
      json(JSON.parse(`${"[".repeat(99)}${"]".repeat(99)}`)),
      "model_malformed_response",
      1,
    ],
    [
      "withholds",
      json({ choices: [{ message: {}, finish_reason: "content_filter" }] }),
      "model_refused",
      1,
    ],
    ["declines", says("", { refusal: "I would rather not." }), "model_refused", 1],
    [
      "declines in a part of its content",
      says("", { content: [{ type: "refusal", refusal: "I would rather not." }] }),
      "model_refused",
      1,
    ],
    [
      "declines by how it ended",
      json({ choices: [{ message: { content: "" }, finish_reason: "refusal" }] }),
      "model_refused",
      1,
    ],
    ["declines as its result", says({ refusal: "I would rather not." }), "model_refused", 1],
    [
      "declines beside a result that is none",
      says({ refusal: "No.", result: null, confidence: 0.9 }),
      "model_refused",
      1,
    ],
    ["says half of a character", says("\ud83d"), "model_malformed_response", 1],
    [
      "has numbers for words",
      json({ choices: [{ message: { content: 7 } }] }),
      "model_malformed_response",
      1,
    ],
    [
      "sends a stream of garbage",
      ((response) => {
        response.setHeader("content-type", "text/event-stream");
        response.end("data: {oops\n\n");
      }) as ModelAnswer,
      "model_malformed_response",
      1,
    ],
  ])("fails the turn when it %s", async (_, answer, code, requests) => {
    const taken = await chat([answer], { retries: 2 });
    expect(errorOf(taken)).toBe(code);
    expect(taken.server.requests).toHaveLength(requests);
    expect(JSON.stringify([taken.outcome, taken.events])).not.toContain(CANARY);
  });

  it("is forgiven when it comes to itself", async () => {
    const wait = { "retry-after": "0" };
    const taken = await chat([status(429, wait), status(500, wait), says({ result: 1 })], {
      retries: 2,
    });
    expect(taken.outcome).toEqual({ kind: "completed", result: 1 });
  });

  it("is given up when it says nothing", async () => {
    const silent: ModelAnswer = () => undefined;
    const taken = await chat([silent], { timeoutMs: 50 });
    expect(errorOf(taken)).toBe("model_unavailable");
  });

  it("is given up when it stalls in the middle", async () => {
    const stalling: ModelAnswer = (response) => {
      response.setHeader("content-type", "application/json");
      response.write('{"choices": [');
    };
    expect(errorOf(await chat([stalling], { timeoutMs: 50 }))).toBe("model_unavailable");
  });

  it("is given up with the turn, however busy it keeps us", async () => {
    const drip: ModelAnswer = (response) => {
      response.setHeader("content-type", "text/event-stream");
      const timer = setInterval(() => response.write(": wait\n\n"), 5);
      response.on("close", () => clearInterval(timer));
    };
    const taken = await chat([drip], { turnTimeoutMs: 100, isStreaming: true });
    expect(errorOf(taken)).toBe("agent_timeout");
    const patient = await chat([status(429, { "retry-after": "10" })], {
      ...{ retries: 5, turnTimeoutMs: 100 },
    });
    expect(errorOf(patient)).toBe("agent_timeout");
  });

  it.each(["3600", new Date(Date.now() + 3_600_000).toUTCString()])(
    "is not asked before the time that it names: Retry-After %s",
    async (wait) => {
      const taken = await chat([status(429, { "retry-after": wait })], { retries: 5 });
      expect(taken.outcome).toMatchObject({
        error: { code: "model_rate_limited", details: { modelStatus: 429 } },
      });
      expect(taken.server.requests).toHaveLength(1);
    },
  );

  it("that breaks off has the block of reasoning closed that it began", async () => {
    const cut = streams([{ reasoning_content: "half a thought that is told " }], { isCut: true });
    const { types, payload } = await chat([cut], { isStreaming: true });
    expect(types).toEqual(["agent.reasoning.delta", "agent.reasoned"]);
    expect(payload("agent.reasoned")["reasoning"]).toBe(payload("agent.reasoning.delta")["delta"]);
  });

  it("is not read for ever", async () => {
    const endless: ModelAnswer = (response) => {
      response.setHeader("content-type", "application/json");
      const more = (): void => {
        while (!response.destroyed && response.write(" ".repeat(65_536)));
      };
      response.on("drain", more);
      more();
    };
    expect(errorOf(await chat([endless]))).toBe("model_malformed_response");
  });

  it("is asked over HTTPS where its authority is trusted, and else told nothing", async () => {
    const certificate = await makeCertificate();
    const trusted = await chat([says({ result: 1 })], { certificate, ca: certificate.cert });
    expect(trusted.outcome).toEqual({ kind: "completed", result: 1 });
    const { cert: ca } = await makeCertificate();
    for (const options of [{ certificate }, { certificate, ca }]) {
      const taken = await chat([says({ result: 1 })], options);
      expect(errorOf(taken)).toBe("model_unavailable");
      expect(taken.server.requests).toEqual([]);
    }
  });

  it("that is not there at all fails the turn", async () => {
    const runtime = createChatRuntime({
      server: createModelConnection({
        ...{ baseUrl: "http://127.0.0.1:1/v1", apiKey: undefined, ca: undefined, timeoutMs: 1000 },
      }),
      ...{ models: new Map([["default", "m"]]), retries: 0, isStreaming: false, maxRounds: 1 },
    });
    onTestFinished(() => runtime.close());
    const taken = await takeTurn({ runtime: (turn) => runtime.takeTurn(turn) });
    expect(errorOf(taken)).toBe("model_unavailable");
  });
});

describe("the way to a model's server", () => {
  it("is shared by those for whom it is asked, each in turn", async () => {
    const held: (() => void)[] = [];
    const server = await startModelServer((response, request) => {
      held.push(() => says({ result: 1 })(response, request));
    });
    const connection = createModelConnection({
      ...{ baseUrl: server.baseUrl, apiKey: undefined, ca: undefined, timeoutMs: 60_000 },
    });
    onTestFinished(() => connection.close());
    const ask = async (owner: string): Promise<void> => {
      const { signal } = new AbortController();
      const response = await connection.ask(JSON.stringify({ model: owner }), { owner, signal });
      response.discard();
    };
    const heavy = Array.from({ length: 12 }, (_, at) => `stranger ${at}`);
    const asked = Array.from({ length: 10 }, () => heavy.map((owner) => ask(owner))).flat();
    const came = (): readonly string[] => server.requests.map(({ body }) => body.model);
    await vi.waitFor(() => expect(came()).toHaveLength(32), PATIENCE);
    for (let count = 1; count <= 12; count += 1) {
      held.shift()?.();
      await vi.waitFor(() => expect(came()).toHaveLength(32 + count), PATIENCE);
    }
    const small = ask("ina");
    held.shift()?.();
    await vi.waitFor(() => expect(came()).toHaveLength(45), PATIENCE);
    expect(came().at(-1)).toBe("ina");
    const done = Promise.all([...asked, small]).then(() => true);
    while (!(await Promise.race([done, new Promise((next) => setImmediate(() => next(false)))]))) {
      for (const one of held.splice(0)) one();
    }
    expect(came()).toHaveLength(121);
  });

  it("has a place again once an answer is read, given up, broken off or not waited for", async () => {
    const endings: readonly ModelAnswer[] = [
      says({ result: 1 }),
      (response) => void response.destroy(),
      status(500),
      (response) => void response.write("half"),
    ];
    const answers = Array.from({ length: 80 }, (_, at) => endings[at % 4]!);
    const server = await startModelServer(...answers, says({ result: 1 }));
    const connection = createModelConnection({
      ...{ baseUrl: server.baseUrl, apiKey: undefined, ca: undefined, timeoutMs: 60_000 },
    });
    onTestFinished(() => connection.close());
    for (let at = 0; at < 81; at += 1) {
      const leaving = new AbortController();
      const asking = connection.ask("{}", { owner: "ina", signal: leaving.signal });
      const response = await asking.catch(() => undefined);
      if (at % 2 === 0) response?.discard();
      else leaving.abort(new Error("gone"));
    }
    expect(server.requests).toHaveLength(81);
  });
});
