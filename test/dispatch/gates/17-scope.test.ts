import { describe, expect, it } from "vitest";
import { ANONYMOUS, type Authority, NO_AUTHORITY } from "../../../src/dispatch/caller/caller.ts";
import { scopeGate } from "../../../src/dispatch/gates/17-scope.ts";
import { refusalText } from "../../../src/dispatch/refusals/refusal.ts";
import type { Route } from "../../../src/dispatch/routes/route.ts";
import { compileGrants } from "../../../src/identity/authority-scope.ts";
import { makeExchange, makeRoute } from "../../support/exchange.ts";

function ask(route: Route, authority: Authority) {
  const exchange = makeExchange();
  exchange.route = route;
  exchange.caller = { ...ANONYMOUS, agentId: "agent", authority };
  return exchange;
}

function holding(...scopes: readonly string[]): Authority {
  return { source: "document", scopes, ...compileGrants(scopes) };
}

// AGTP-API §6.4 "required_scopes", §8.7
describe("scopeGate", () => {
  const gate = scopeGate(true);
  const route = makeRoute({ requiredScopes: ["booking:room", "calendar:write"] });

  it("passes a caller that holds every required scope", () => {
    expect(gate(ask(route, holding("booking:*", "calendar:write")))).toBeUndefined();
  });

  it("answers 455 with the missing scopes alone", () => {
    expect(gate(ask(route, holding("booking:room")))).toMatchObject({
      status: 455,
      code: "scope-violation",
      carried: { missing_scopes: ["calendar:write"] },
    });
  });

  it("names what this caller misses, whatever the one before did", () => {
    const [room, calendar] = [["booking:room"], ["calendar:write"]];
    for (const held of [room, [], [], room, room, calendar]) {
      const missing = {
        missing_scopes: route.requiredScopes.filter((scope) => !held.includes(scope)),
      };
      const refusal = gate(ask(route, holding(...held)));
      expect(refusal?.carried).toEqual(missing);
      expect(refusal && JSON.parse(refusalText(refusal))).toMatchObject(missing);
    }
  });

  it("answers 262 scope-required to a caller with neither claim nor document", () => {
    expect(gate(ask(makeRoute(), NO_AUTHORITY))).toMatchObject({
      status: 262,
      code: "scope-required",
      carried: { type: "scope-required" },
    });
  });

  it("asks for no scope at all where the operator does not", () => {
    const lenient = scopeGate(false);
    expect(lenient(ask(makeRoute(), NO_AUTHORITY))).toBeUndefined();
    expect(lenient(ask(route, NO_AUTHORITY))?.status).toBe(455);
  });

  it("is satisfied by an empty claim where no scope is required", () => {
    expect(gate(ask(makeRoute(), { ...holding(), source: "claim" }))).toBeUndefined();
  });

  it("leaves the protocol's own endpoints alone", () => {
    expect(gate(ask(makeRoute({ tier: "A" }), NO_AUTHORITY))).toBeUndefined();
  });
});
