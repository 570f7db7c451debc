import { describe, expect, it } from "vitest";
import { ANONYMOUS } from "../../src/dispatch/caller/caller.ts";
import type { Exchange } from "../../src/dispatch/exchange.ts";
import { innerExchange, resultOf } from "../../src/dispatch/handling/inner-dispatch.ts";
import { AGTP_JSON, type Reply } from "../../src/dispatch/reply.ts";
import { makeExchange } from "../support/exchange.ts";

function innerOf(parent: Exchange, path = "/inner"): Exchange {
  return innerExchange(parent, ["QUERY", path], { city: "Oslo" });
}

describe("Exchange", () => {
  it("knows the wire's method only where another one is answered", () => {
    const exchange = makeExchange({ method: "GET" });
    expect(exchange.requestedMethod).toBeUndefined();
    exchange.method = "FETCH";
    expect(exchange.requestedMethod).toBe("GET");
  });

  it("makes its signal when somebody asks, aborted if it was aborted before", () => {
    const early = makeExchange();
    early.abort(new Error("the caller left"));
    early.abort(new Error("too late to matter"));
    expect(early.signal.aborted).toBe(true);
    expect(early.signal.reason).toMatchObject({ message: "the caller left" });
    const late = makeExchange();
    const { signal } = late;
    late.abort(new Error("the caller left"));
    expect(signal.aborted).toBe(true);
  });

  it("shares caller, identifiers and signal with what it dispatches, however deep", () => {
    const outer = makeExchange();
    outer.caller = { ...ANONYMOUS, agentId: "agent" };
    outer.taskId = "t-from-an-envelope";
    outer.sessionId = "s-from-an-envelope";
    const inner = innerOf(innerOf(outer));
    expect(inner.caller).toBe(outer.caller);
    expect(inner).toMatchObject({ taskId: outer.taskId, sessionId: outer.sessionId, depth: 2 });
    outer.abort(new Error("over"));
    expect(inner.signal.aborted).toBe(true);
  });
});

// AGTP-API §10.1.2, §12.1
describe("innerRequest", () => {
  it("carries identifiers on, and nothing that would grant or negotiate", () => {
    const parent = makeExchange({
      headers: {
        "agent-id": "a",
        "owner-id": "o",
        "request-id": "r",
        "authority-scope": "vault:open",
        authorization: "Bearer secret",
        "allow-rcns": "true",
        "contract-synthesized": "syn-1",
        "synthesis-id": "syn-1",
        "idempotency-key": "k",
      },
    });
    const { headers, body } = innerExchange(parent, ["QUERY", "/rooms"], {}).request;
    expect([...headers].map(([name]) => name).toSorted()).toEqual([
      "agent-id",
      "owner-id",
      "request-id",
    ]);
    expect(body.length).toBe(0);
  });

  it("splits a target at the first question mark", () => {
    const { path, query } = innerExchange(makeExchange(), ["QUERY", "/rooms?a=b?c"], {}).request;
    expect({ path, query }).toEqual({ path: "/rooms", query: "a=b?c" });
  });
});

describe("resultOf", () => {
  function reply(body: unknown, headers?: Record<string, string>): Reply {
    return { status: 200, body, contentType: AGTP_JSON, headers, refusal: undefined };
  }

  it("gives a document that was encoded at start-up as a value", () => {
    expect(resultOf(reply(Buffer.from('{"a":1}'), { ETag: '"x"' }), undefined)).toEqual({
      status: 200,
      headers: { etag: '"x"' },
      body: { a: 1 },
    });
  });

  it("leaves bytes that are no JSON alone", () => {
    const bytes = Buffer.from([0xff]);
    expect(resultOf(reply(bytes), undefined).body).toBe(bytes);
  });
});
