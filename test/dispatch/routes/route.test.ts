import { describe, expect, it } from "vitest";
import { CallContext } from "../../../src/dispatch/handling/call-context.ts";
import { createRoute, endpointWarning } from "../../../src/dispatch/routes/route.ts";
import type { EndpointDeprecation } from "../../../src/endpoint/endpoint.ts";
import { makeEndpoint } from "../../support/endpoint-definition.ts";
import { makeExchange, makeRoute } from "../../support/exchange.ts";
import { makeCall } from "../../support/handler-call.ts";

const BINDING = { type: "registered_function", function: "a.b" } as const;

// AGTP-API §6.5
describe("endpointWarning", () => {
  it.each<[string, EndpointDeprecation]>([
    [
      "deprecated; successor=RESERVE /rooms; removed_in=3.0.0",
      {
        deprecated_in: "2.1.0",
        removed_in: "3.0.0",
        successor: { method: "RESERVE", path: "/rooms" },
      },
    ],
    ["deprecated; successor=RESERVE", { deprecated_in: "1", successor: { method: "RESERVE" } }],
    ["deprecated; successor=/rooms", { deprecated_in: "1", successor: { path: "/rooms" } }],
    ["deprecated; removed_in=3.0.0", { deprecated_in: "1", removed_in: "3.0.0" }],
    ["deprecated", { deprecated_in: "1" }],
  ])("writes %s", (expected, deprecated) => {
    expect(endpointWarning(makeEndpoint(BINDING, { deprecated }))).toBe(expected);
  });

  it("says nothing of an endpoint that is not deprecated", () => {
    expect(endpointWarning(makeEndpoint(BINDING))).toBeUndefined();
  });
});

describe("createRoute", () => {
  it("takes from the definition what it says, and gives every route the same members", () => {
    const definition = makeEndpoint(BINDING, { errors: ["full"], requiredScopes: ["a:b"] });
    const { input } = makeRoute();
    const route = createRoute(definition, () => ({ body: {} }), { tier: "A", input });
    expect(route).toMatchObject({ method: definition.method, requiredScopes: ["a:b"] });
    expect([...route.errors]).toEqual(["full"]);
    expect(route).toMatchObject({ isReading: false, startsWork: false, output: undefined });
    const other = createRoute(definition, route.handler, { tier: "B", input, isReading: true });
    expect(Object.keys(other)).toEqual(Object.keys(route));
  });
});

describe("CallContext.changed", () => {
  it("has another input or dispatch, and all else as it was", async () => {
    const exchange = makeExchange({ headers: { "task-id": "t-1" } });
    exchange.input = { a: 1 };
    const { log } = makeCall();
    const none = () => Promise.reject(new Error("nothing is dispatched"));
    const call = new CallContext(exchange, { logFor: () => log, dispatch: none });
    const answer = { status: 200, headers: {}, body: "other" };
    const changed = CallContext.changed(call, { dispatch: () => Promise.resolve(answer) });
    expect(await changed.dispatch("QUERY", "/")).toBe(answer);
    expect(changed.input).toBe(call.input);
    for (const name of ["method", "path", "agentId", "signal", "log"] as const) {
      expect(changed[name]).toBe(call[name]);
    }
    expect(changed.scopes).toEqual(call.scopes);
    expect(changed.taskId).toBe("t-1");
    const other = CallContext.changed(changed, { input: { b: 2 } });
    expect(other.input).toEqual({ b: 2 });
    expect(await other.dispatch("QUERY", "/")).toBe(answer);
    expect(() => CallContext.changed(makeCall(), { input: {} })).toThrow(TypeError);
  });
});
