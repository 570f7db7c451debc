import { describe, expect, it } from "vitest";
import { aliasGate } from "../../../src/dispatch/gates/06-alias.ts";
import { makeExchange } from "../../support/exchange.ts";
import { makePolicy } from "../../support/policy.ts";

// AGTP-API §9.2 "aliases"
describe("aliasGate", () => {
  it("resolves the seed of HTTP verbs, and keeps the wire's name", () => {
    const exchange = makeExchange({ method: "GET" });
    expect(aliasGate(makePolicy())(exchange)).toBeUndefined();
    expect(exchange.method).toBe("FETCH");
    expect(exchange.requestedMethod).toBe("GET");
    expect(exchange.mappedParameters).toBeUndefined();
  });

  it("leaves every other method alone", () => {
    const exchange = makeExchange({ method: "BOOK" });
    aliasGate(makePolicy())(exchange);
    expect(exchange.method).toBe("BOOK");
    expect(exchange.requestedMethod).toBeUndefined();
  });

  it("resolves nothing when the operator wrote an empty table", () => {
    const exchange = makeExchange({ method: "GET" });
    aliasGate(makePolicy({ aliases: {} }))(exchange);
    expect(exchange.method).toBe("GET");
  });

  // AGTP-API §3.6
  it.each([
    ["GET", "QUERY", undefined],
    ["POST", "EXECUTE", undefined],
  ])("maps opted-in %s to %s", (verb, method, parameters) => {
    const exchange = makeExchange({ method: verb });
    aliasGate(makePolicy({ aliases: {}, legacy: [verb] }))(exchange);
    expect(exchange.method).toBe(method);
    expect(exchange.mappedParameters).toEqual(parameters);
  });

  it("prefers an alias over the mapping of an opted-in verb", () => {
    const exchange = makeExchange({ method: "GET" });
    aliasGate(makePolicy({ legacy: "*" }))(exchange);
    expect(exchange.method).toBe("FETCH");
  });

  it.each(["__proto__", "constructor", "toString"])("knows no alias called %s", (method) => {
    const exchange = makeExchange({ method });
    aliasGate(makePolicy())(exchange);
    expect(exchange.method).toBe(method);
  });
});
