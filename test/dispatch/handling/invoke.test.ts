import { describe, expect, it } from "vitest";
import { Exchange } from "../../../src/dispatch/exchange.ts";
import { Deadlines } from "../../../src/dispatch/handling/deadlines.ts";
import { type InvokeServices, invoke } from "../../../src/dispatch/handling/invoke.ts";
import type { Fault } from "../../../src/dispatch/observer.ts";
import type { Reply } from "../../../src/dispatch/reply.ts";
import type { Handler } from "../../../src/handlers/handler.ts";
import { makeExchange, makeRoute, type RouteOptions } from "../../support/exchange.ts";

const IGNORE = (): void => undefined;
const LOG = { debug: IGNORE, info: IGNORE, warn: IGNORE, error: IGNORE };

interface Bench {
  readonly services: InvokeServices;
  readonly faults: Fault[];
}

function makeBench(timeoutMs = 10_000): Bench {
  const faults: Fault[] = [];
  const deadlines = new Deadlines(timeoutMs);
  const services: InvokeServices = {
    deadlines,
    logFor: () => LOG,
    reportFault: (fault) => void faults.push(fault),
    dispatch: () => Promise.reject(new Error("not in this test")),
  };
  return { services, faults };
}

function run(
  handler: Handler,
  { services }: Bench,
  { exchange = makeExchange(), ...route }: RouteOptions & { readonly exchange?: Exchange } = {},
): Reply | Promise<Reply> {
  return invoke(exchange, makeRoute({ handler, ...route }), services, (reply) => reply);
}

function innerExchange(): Exchange {
  const parent = makeExchange();
  return new Exchange(parent.request, parent.peer, performance.now(), { parent, input: {} });
}

// AGTP-API §12, §13.2
describe("invoke", () => {
  it("answers at once when the handler does", () => {
    expect(run(() => ({ body: { ok: true } }), makeBench())).toMatchObject({ status: 200 });
  });

  it("answers later when the handler does", async () => {
    const reply = run(async () => ({ body: { ok: true } }), makeBench());
    expect(reply).toBeInstanceOf(Promise);
    expect(await reply).toMatchObject({ status: 200, body: { ok: true } });
  });

  it("waits for any other thenable that a handler returns", async () => {
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about
    const thenable = { then: (resolve: (value: unknown) => void) => resolve({ body: 2 }) };
    const reply = run((() => thenable) as unknown as Handler, makeBench());
    expect(reply).toBeInstanceOf(Promise);
    expect(await reply).toMatchObject({ status: 200, body: 2 });
  });

  it("applies what becomes of the reply exactly once", async () => {
    const { services } = makeBench(5);
    const statuses: number[] = [];
    let answerLate: (result: { body: object }) => void = () => undefined;
    const late = new Promise<{ body: object }>((resolve) => {
      answerLate = resolve;
    });
    const route = makeRoute({ handler: () => late });
    await invoke(makeExchange(), route, services, ({ status }) => statuses.push(status));
    answerLate({ body: {} });
    await late;
    expect(statuses).toEqual([500]);
  });

  it.each<[string, Handler]>([
    [
      "throws",
      () => {
        throw new Error("secret");
      },
    ],
    ["rejects", () => Promise.reject(new Error("secret"))],
    ["rejects with nothing", () => Promise.reject()],
    ["names an undeclared error", () => ({ error: "secret" })],
    ["returns what throws when it is read", async () => unreadable()],
    ["returns null for headers", async () => ({ body: {}, headers: nothing() })],
  ])(
    "makes an opaque 500 of a handler that %s, and reports it under the same id",
    async (_, handler) => {
      const bench = makeBench();
      const reply = await run(handler, bench);
      const [fault] = bench.faults;
      expect(bench.faults).toHaveLength(1);
      expect(reply).toMatchObject({ status: 500, refusal: { code: "internal-error" } });
      expect(JSON.stringify(reply.body)).not.toContain("secret");
      expect(JSON.stringify(reply.body)).toContain(fault?.errorId);
    },
  );

  it("answers 500 handler-timeout when the time is over, and aborts the signal", async () => {
    const bench = makeBench(5);
    const exchange = makeExchange();
    const reply = await run(() => new Promise(() => undefined), bench, { exchange });
    expect(reply).toMatchObject({ status: 500, refusal: { code: "handler-timeout" } });
    expect(exchange.signal.aborted).toBe(true);
    expect(bench.faults).toHaveLength(1);
  });

  it("does not report a handler that gives up because its time was up", async () => {
    const bench = makeBench(5);
    const handler: Handler = ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("given up")));
      });
    await run(handler, bench);
    await Promise.resolve();
    expect(bench.faults.map(({ message }) => message)).toEqual([
      "the handler did not answer in time",
    ]);
  });

  it.each<[string, RouteOptions & { readonly exchange?: Exchange }]>([
    [
      "what a handler dispatches, which ends with the call that dispatched it",
      { exchange: innerExchange() },
    ],
    ["a handler that ends by itself", { endsInTime: true }],
  ])("sets no deadline for %s", async (_, options) => {
    const { services, faults } = makeBench();
    const entries: unknown[] = [];
    const deadlines = Object.assign(new Deadlines(5), {
      add: (entry: unknown) => void entries.push(entry),
    });
    await run(
      async () => ({ body: {} }),
      { services: { ...services, deadlines }, faults },
      options,
    );
    expect(entries).toEqual([]);
  });

  it("rejects when what becomes of the reply throws, so that nobody waits for ever", async () => {
    const { services } = makeBench();
    const route = makeRoute({ handler: async () => ({ body: {} }) });
    const answer = invoke(makeExchange(), route, services, () => {
      throw new Error("no reply can be made");
    });
    await expect(answer).rejects.toThrow("no reply can be made");
  });
});

function unreadable(): { body: object } {
  return {
    get body(): object {
      throw new Error("secret");
    },
  };
}

/** Plain JavaScript does not know what the type promises. */
function nothing(): Record<string, string> {
  return null as unknown as Record<string, string>;
}
