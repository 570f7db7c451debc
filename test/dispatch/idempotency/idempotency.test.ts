import { describe, expect, it } from "vitest";
import { ANONYMOUS } from "../../../src/dispatch/caller/caller.ts";
import type { Exchange } from "../../../src/dispatch/exchange.ts";
import { Deadlines } from "../../../src/dispatch/handling/deadlines.ts";
import { createCallHandler, type InvokeServices } from "../../../src/dispatch/handling/invoke.ts";
import { createAnswerOnce } from "../../../src/dispatch/idempotency/idempotency.ts";
import type { Fault } from "../../../src/dispatch/observer.ts";
import { badRequest } from "../../../src/dispatch/refusals/refusal.ts";
import { attributionUnavailable } from "../../../src/dispatch/refusals/store-refusals.ts";
import type { Reply } from "../../../src/dispatch/reply.ts";
import type { RouteHandler } from "../../../src/dispatch/routes/route.ts";
import type { Handler, HandlerResult } from "../../../src/handlers/handler.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { IdempotencyRegister } from "../../../src/state/registers/idempotency-register.ts";
import type { Store } from "../../../src/state/store.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { makeExchange, makeRoute, type RouteOptions } from "../../support/exchange.ts";
import { alterStore } from "../../support/store.ts";

const AGENT = "a".repeat(64);
const DOCUMENT = { agentId: AGENT } as AgentDocument;
const IGNORE = (): void => undefined;

function request(body = "{}"): Exchange {
  const exchange = makeExchange({ body });
  exchange.caller = { ...ANONYMOUS, agentId: AGENT, document: DOCUMENT };
  return exchange;
}

interface BenchOptions extends RouteOptions {
  readonly store?: Store;
  readonly timeoutMs?: number;
}

/** One endpoint behind a register, and how often its handler was called. */
async function makeBench(handler: RouteHandler, options: BenchOptions = {}) {
  const { store = createMemoryStore(), timeoutMs = 10_000, ...routeOptions } = options;
  const faults: Fault[] = [];
  const calls = { count: 0 };
  const services: InvokeServices = {
    deadlines: new Deadlines(timeoutMs),
    logFor: () => ({ debug: IGNORE, info: IGNORE, warn: IGNORE, error: IGNORE }),
    reportFault: (fault) => void faults.push(fault),
    dispatch: () => Promise.reject(new Error("not in this test")),
  };
  const answerOnce = createAnswerOnce({
    register: await IdempotencyRegister.open(store, {}),
    view: {},
    directory: { find: () => undefined },
    services,
    callHandler: createCallHandler(() => undefined, services),
  });
  const route = makeRoute({
    ...routeOptions,
    handler: ((call, exchange) => {
      calls.count += 1;
      return handler(call, exchange);
    }) satisfies RouteHandler,
  });
  const ask = (exchange = request()): Promise<Reply> => answerOnce(exchange, route, "k");
  return { ask, calls, faults };
}

/** A handler that answers when it is told to. */
function makeGate() {
  let open: (result: HandlerResult) => void = IGNORE;
  let begin: () => void = IGNORE;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const handler: Handler = () => {
    begin();
    return new Promise((resolve) => {
      open = resolve;
    });
  };
  return { handler, begun, open: (result: HandlerResult) => open(result) };
}

function codeOf({ refusal }: Reply): string | undefined {
  return refusal?.code;
}

function textOf({ body }: Reply): string {
  return body instanceof Uint8Array ? Buffer.from(body).toString() : String(body);
}

const REPLAYED = { "Idempotency-Replayed": "true" };

// AGTP-API §10.1.5
describe("createAnswerOnce", () => {
  it("calls the handler once, and gives its reply again, marked as such", async () => {
    const headers = { "X-Own": "1", "Content-Type": "text/plain" };
    const { ask, calls } = await makeBench(() => ({ body: "done", headers, status: 202 }));
    const first = await ask();
    const second = await ask();
    expect(calls.count).toBe(1);
    expect(first).toMatchObject({ status: 202, contentType: "text/plain" });
    expect(first.headers).toEqual({ "X-Own": "1" });
    expect({ ...second, headers: undefined }).toEqual({ ...first, headers: undefined });
    expect(second.headers).toEqual({ "X-Own": "1", ...REPLAYED });
    expect(textOf(second)).toBe("done");
  });

  it.each<[string, HandlerResult, string]>([
    ["text beyond ASCII", { body: { name: "Zoë 🛎" } }, '{"name":"Zoë 🛎"}'],
    ["null", { body: null }, "null"],
    ["nothing", { status: 204 } as HandlerResult, "undefined"],
  ])("gives a body that is %s again as it was", async (_, result, text) => {
    const { ask } = await makeBench(() => result);
    expect(textOf(await ask())).toBe(text);
    expect(textOf(await ask())).toBe(text);
  });

  it("gives bytes again as they were, whatever they are", async () => {
    const bytes = Uint8Array.of(0, 255, 128, 10);
    const { ask } = await makeBench(() => ({ body: bytes }), { output: undefined });
    await ask();
    expect((await ask()).body).toEqual(Buffer.from(bytes));
  });

  it("refuses another request under the key, and the first one not for it", async () => {
    const { ask, calls } = await makeBench(() => ({ body: {} }));
    await ask();
    const other = await ask(request("[]"));
    expect(other).toMatchObject({ status: 409, refusal: { code: "idempotency-key-reuse" } });
    expect(await ask()).toMatchObject({ status: 200 });
    expect(calls.count).toBe(1);
  });

  it.each([
    ["of the endpoint's own", "room_unavailable"],
    ["that the protocol has for what may pass", "approval-used"],
    ["that the protocol has for what nobody knows", "outcome-unknown"],
  ])("keeps an error with a name %s as it keeps a success", async (_, name) => {
    const errors = new Set([name]);
    const error = { error: name, details: { nights: 13 } };
    const { ask, calls } = await makeBench(() => error, { errors });
    const [first, second] = [await ask(), await ask()];
    expect(codeOf(second)).toBe(name);
    expect(second).toMatchObject({ status: 422, headers: REPLAYED });
    expect(textOf(second)).toBe(textOf(first));
    expect(calls.count).toBe(1);
  });

  it.each<[string, Handler, string]>([
    ["throws", () => Promise.reject(new Error("x")), "internal-error"],
    ["answers what cannot be encoded", () => ({ body: 1n }), "internal-error"],
    ["takes too long", () => new Promise(IGNORE), "handler-timeout"],
  ])("does not call a handler again that %s", async (_, handler, code) => {
    const { ask, calls, faults } = await makeBench(handler, { timeoutMs: 5, output: undefined });
    const [first, second] = [await ask(), await ask()];
    expect([first, second].map(codeOf)).toEqual([code, code]);
    expect(textOf(second)).toBe(textOf(first));
    expect([calls.count, faults.length]).toEqual([1, 1]);
  });

  it("keeps no refusal of the protocol's own that says that nothing was done", async () => {
    const { ask, calls } = await makeBench(() => attributionUnavailable(), { tier: "A" });
    expect(await ask()).toMatchObject({ status: 503, headers: undefined });
    expect(await ask()).toMatchObject({ status: 503, headers: undefined });
    expect(calls.count).toBe(2);
  });

  it("keeps a refusal of the protocol's own that the request is to blame for", async () => {
    const handler: RouteHandler = () => badRequest("invalid-body", "no");
    const { ask, calls } = await makeBench(handler, { tier: "A" });
    await ask();
    expect(await ask()).toMatchObject({ status: 400, headers: REPLAYED });
    expect(calls.count).toBe(1);
  });
});

describe("a duplicate that comes while the handler runs", () => {
  it("gets the reply of the one call", async () => {
    const gate = makeGate();
    const { ask, calls } = await makeBench(gate.handler);
    const replies = Promise.all([ask(), ask(), ask()]);
    await gate.begun;
    gate.open({ body: { number: 7 } });
    const [first, ...others] = await replies;
    expect(calls.count).toBe(1);
    expect(first?.headers).toBeUndefined();
    expect(others.map(({ headers }) => headers)).toEqual([REPLAYED, REPLAYED]);
    expect(new Set((await replies).map(textOf))).toEqual(new Set(['{"number":7}']));
  });

  it("is refused at once when it is another request", async () => {
    const gate = makeGate();
    const { ask } = await makeBench(gate.handler);
    const first = ask();
    await gate.begun;
    expect(codeOf(await ask(request("[]")))).toBe("idempotency-key-reuse");
    gate.open({ body: {} });
    expect(await first).toMatchObject({ status: 200 });
  });

  it("is told that the key is in use when too many wait", async () => {
    const gate = makeGate();
    const { ask } = await makeBench(gate.handler);
    const waiting = Array.from({ length: 257 }, () => ask());
    await gate.begun;
    expect(codeOf(await ask())).toBe("idempotency-key-in-use");
    gate.open({ body: {} });
    for (const reply of await Promise.all(waiting)) expect(reply.status).toBe(200);
  });

  it("stops waiting when its caller leaves", async () => {
    const gate = makeGate();
    const { ask } = await makeBench(gate.handler);
    const first = ask();
    await gate.begun;
    const leaving = request();
    const reply = ask(leaving);
    leaving.abort(new Error("the caller left"));
    expect(codeOf(await reply)).toBe("idempotency-key-in-use");
    gate.open({ body: {} });
    expect(await first).toMatchObject({ status: 200 });
  });
});

describe("a caller that leaves", () => {
  it("before the handler is called has asked for nothing", async () => {
    const { ask, calls } = await makeBench(() => ({ body: {} }));
    const leaving = request();
    const reply = ask(leaving);
    const waiting = ask();
    leaving.abort(new Error("the caller left"));
    await reply;
    expect(codeOf(await waiting)).toBe("idempotency-key-in-use");
    expect(calls.count).toBe(0);
    expect(await ask()).toMatchObject({ status: 200, headers: undefined });
  });

  it("finds the reply when it comes back, if the handler went on", async () => {
    const gate = makeGate();
    const { ask, calls } = await makeBench(gate.handler);
    const leaving = request();
    const lost = ask(leaving);
    await gate.begun;
    leaving.abort(new Error("the caller left"));
    gate.open({ body: { number: 7 } });
    await lost;
    expect(textOf(await ask())).toBe('{"number":7}');
    expect(calls.count).toBe(1);
  });

  it("learns that the outcome is unknown, if the handler gave up", async () => {
    const handler: Handler = ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        setImmediate(() => leaving.abort(new Error("the caller left")));
      });
    const leaving = request();
    const { ask, calls } = await makeBench(handler);
    const lost = ask(leaving);
    const waiting = ask();
    expect(codeOf(await waiting)).toBe("idempotency-outcome-unknown");
    await lost;
    expect(codeOf(await ask())).toBe("idempotency-outcome-unknown");
    expect(calls.count).toBe(1);
  });
});

describe("a store that fails", () => {
  /** Commits fail while `isBroken`. */
  function breakable() {
    const memory = createMemoryStore();
    const state = { isBroken: false };
    const store = alterStore(memory, {
      commit: (...args) =>
        state.isBroken ? Promise.reject(new Error("disk full")) : memory.commit(...args),
    });
    return { state, store };
  }

  it("before the handler is called keeps it from being called", async () => {
    const { state, store } = breakable();
    const { ask, calls, faults } = await makeBench(() => ({ body: {} }), { store });
    state.isBroken = true;
    expect(codeOf(await ask())).toBe("internal-error");
    expect([calls.count, faults.length]).toEqual([0, 1]);
    state.isBroken = false;
    expect(await ask()).toMatchObject({ status: 200 });
  });

  it("leaves the key taken where the call may have been carried out, and frees it where it was not", async () => {
    const fault = new StoreUnavailableError("full", new Error("the disk is full"));
    for (const hasActed of [true, false]) {
      const { ask, calls } = await makeBench((_, exchange) => {
        if (hasActed) exchange.markActed();
        throw fault;
      });
      const first = hasActed ? "outcome-unknown" : "store-unavailable";
      const again = hasActed ? "idempotency-outcome-unknown" : "store-unavailable";
      expect([codeOf(await ask()), codeOf(await ask())]).toEqual([first, again]);
      expect(calls.count).toBe(hasActed ? 1 : 2);
    }
  });

  it("after it was called does not take the reply from whoever asked first", async () => {
    const { state, store } = breakable();
    const handler: Handler = () => {
      state.isBroken = true;
      return { body: {} };
    };
    const { ask, calls, faults } = await makeBench(handler, { store });
    expect(await ask()).toMatchObject({ status: 200 });
    expect(faults).toHaveLength(1);
    expect(codeOf(await ask())).toBe("idempotency-outcome-unknown");
    expect(calls.count).toBe(1);
  });
});
