import { describe, expect, it } from "vitest";
import { ANONYMOUS } from "../../../src/dispatch/caller/caller.ts";
import { Exchange } from "../../../src/dispatch/exchange.ts";
import {
  fingerprintOf,
  readIdempotencyKey,
} from "../../../src/dispatch/idempotency/idempotency.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import { type ExchangeOptions, makeExchange, makeRoute } from "../../support/exchange.ts";

const AGENT = "a".repeat(64);
const DOCUMENT = { agentId: AGENT } as AgentDocument;

/** A request of an agent that this server knows. */
function asked(headers: Readonly<Record<string, string>>, options: ExchangeOptions = {}): Exchange {
  const exchange = makeExchange({ ...options, headers });
  exchange.caller = { ...ANONYMOUS, agentId: AGENT, document: DOCUMENT };
  return exchange;
}

// AGTP-API §10.1.5
describe("readIdempotencyKey", () => {
  const route = makeRoute();

  it.each(["k", "!~", "x".repeat(256), "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42"])(
    "takes the key %j",
    (key) => {
      expect(readIdempotencyKey(asked({ "idempotency-key": key }), route)).toBe(key);
    },
  );

  it.each(["", "two words", "x".repeat(257), "caf\xe9", "a\tb"])("refuses the key %j", (key) => {
    for (const name of ["idempotency-key", "rcns-idempotency-key"]) {
      expect(readIdempotencyKey(asked({ [name]: key }), route)).toMatchObject({
        status: 400,
        code: "invalid-identifier",
      });
    }
  });

  it("takes the old name of the header, beside the new one too if both say the same", () => {
    expect(readIdempotencyKey(asked({ "rcns-idempotency-key": "k" }), route)).toBe("k");
    const both = { "idempotency-key": "k", "rcns-idempotency-key": "k" };
    expect(readIdempotencyKey(asked(both), route)).toBe("k");
    const different = { "idempotency-key": "k", "rcns-idempotency-key": "K" };
    expect(readIdempotencyKey(asked(different), route)).toMatchObject({ status: 400 });
  });

  it("has none without a header", () => {
    expect(readIdempotencyKey(asked({}), route)).toBeUndefined();
  });

  it("does not look at what changes nothing, whatever is in it", () => {
    const exchange = asked({ "idempotency-key": "two words" });
    expect(readIdempotencyKey(exchange, makeRoute({ isReading: true }))).toBeUndefined();
  });

  it("does not look at what nobody or a stranger sends", () => {
    const exchange = makeExchange({ headers: { "idempotency-key": "two words" } });
    expect(readIdempotencyKey(exchange, route)).toBeUndefined();
    exchange.caller = { ...ANONYMOUS, agentId: AGENT };
    expect(readIdempotencyKey(exchange, route)).toBeUndefined();
  });

  it("has none for what a handler dispatches", () => {
    const parent = asked({ "idempotency-key": "k" });
    const { request, peer } = parent;
    const inner = new Exchange(request, peer, 0, { parent, input: {} });
    expect(readIdempotencyKey(inner, route)).toBeUndefined();
  });
});

describe("fingerprintOf", () => {
  const request = { method: "BOOK", path: "/room", query: "a=1", body: "{}" };
  const fingerprint = fingerprintOf(asked({}, request));

  it("is the same for the same request, whatever its other headers say", () => {
    const headers = { "request-id": "r", "task-id": "t", "session-id": "s" };
    expect(fingerprintOf(asked(headers, request))).toBe(fingerprint);
  });

  it.each<[string, ExchangeOptions]>([
    ["method", { method: "RESERVE" }],
    ["path", { path: "/rooms" }],
    ["query", { query: "a=2" }],
    ["body", { body: "{ }" }],
    ["path that ends where a query began", { path: "/room?a=1", query: "" }],
  ])("differs with another %s", (_, change) => {
    expect(fingerprintOf(asked({}, { ...request, ...change }))).not.toBe(fingerprint);
  });

  it("is about the method and path that are answered", () => {
    const exchange = asked({}, { ...request, method: "BUY", path: "/house" });
    exchange.method = "BOOK";
    exchange.path = "/room";
    expect(fingerprintOf(exchange)).toBe(fingerprint);
  });

  it("takes an empty query for none", () => {
    const empty = asked({}, { ...request, query: "" });
    const { query: _, ...without } = request;
    expect(fingerprintOf(empty)).toBe(fingerprintOf(asked({}, without)));
  });

  it("tells legacy verbs apart that are answered by one method", () => {
    const exchange = asked({}, request);
    exchange.mappedParameters = { action: "delete" };
    expect(fingerprintOf(exchange)).not.toBe(fingerprint);
  });

  it("tells a caller that proved who it is from one that only says so", () => {
    const certified = asked({}, request);
    certified.caller = { ...certified.caller, isCertified: true };
    const principal = asked({}, request);
    principal.caller = { ...principal.caller, principalId: "somebody" };
    const all = [certified, principal].map(fingerprintOf);
    expect(new Set([fingerprint, ...all]).size).toBe(3);
  });
});
