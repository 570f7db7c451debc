import { describe, expect, it } from "vitest";
import { ANONYMOUS } from "../../../src/dispatch/caller/caller.ts";
import { endpointGate } from "../../../src/dispatch/gates/11-endpoint.ts";
import { createRegistry } from "../../../src/endpoint/endpoint-registry.ts";
import { makeExchange, makeRoute } from "../../support/exchange.ts";

const READING = { tier: "A", isReading: true, method: "DISCOVER", path: "/methods" } as const;
const routes = [makeRoute(), makeRoute({ path: "/rooms/{room_id}" }), makeRoute(READING)];
const { registry } = createRegistry(routes);
const OPTIONS = {
  registry,
  anonymousDiscovery: false,
  tokenMethods: new Set<string>(),
};

function ask(method: string, path: string, agentId?: string) {
  const exchange = makeExchange({ method, path });
  exchange.caller = { ...ANONYMOUS, agentId };
  return exchange;
}

// AGTP-API §5.4, §8.7
describe("endpointGate", () => {
  const gate = endpointGate({ ...OPTIONS, anonymousDiscovery: true });

  it("finds the endpoint, and what its path captured, undecoded", () => {
    const exchange = ask("BOOK", "/rooms/a%20b", "agent");
    expect(gate(exchange)).toBeUndefined();
    expect(exchange.route).toBe(routes[1]);
    expect(exchange.pathValues).toEqual({ room_id: "a%20b" });
  });

  it("leaves a miss to the next gate", () => {
    const exchange = ask("BOOK", "/nowhere", "agent");
    expect(gate(exchange)).toBeUndefined();
    expect(exchange.route).toBeUndefined();
  });

  it("asks an anonymous caller of an endpoint for credentials, with the route known", () => {
    const exchange = ask("BOOK", "/room");
    expect(gate(exchange)).toMatchObject({ status: 262, code: "credentials-missing" });
    // The warning of a deprecated endpoint comes from the route.
    expect(exchange.route).toBe(routes[0]);
  });

  it("answers anonymous discovery where the policy lets it", () => {
    expect(gate(ask("DISCOVER", "/methods"))).toBeUndefined();
    const closed = endpointGate(OPTIONS);
    expect(closed(ask("DISCOVER", "/methods"))).toMatchObject({
      status: 262,
      code: "anonymous-discovery-disabled",
      carried: { type: "anonymous-discovery-disabled" },
    });
    expect(closed(ask("DISCOVER", "/methods", "agent"))).toBeUndefined();
  });
});
