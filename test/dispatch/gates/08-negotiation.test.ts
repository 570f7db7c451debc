import { describe, expect, it } from "vitest";
import { createRegistry } from "../../../src/contract/endpoint-registry.ts";
import { Exchange } from "../../../src/dispatch/exchange.ts";
import { negotiationGate, presentationGate } from "../../../src/dispatch/gates/08-negotiation.ts";
import { makeExchange, makeRoute } from "../../support/exchange.ts";
import { makePolicy } from "../../support/policy.ts";

const { registry } = createRegistry([makeRoute()]);

function innerOf(headers: Readonly<Record<string, string>>): Exchange {
  const parent = makeExchange({ headers });
  return new Exchange({ ...parent.request, path: "/nowhere" }, parent.peer, 0, {
    parent,
    input: {},
  });
}

// AGTP-API §6.1, §10.1.2
describe("negotiationGate", () => {
  const gate = negotiationGate(makePolicy(), registry);

  it("answers 404 for a path that nobody knows", () => {
    expect(gate(makeExchange({ path: "/nowhere" }))).toMatchObject({
      status: 404,
      code: "endpoint-not-found",
    });
  });

  it("answers 405 for a path that is known under another method", () => {
    expect(gate(makeExchange({ method: "CANCEL" }))).toMatchObject({
      status: 405,
      carried: { allowed_methods_for_path: ["BOOK"] },
    });
  });

  it.each(["/nowhere", "/room"])("answers 464 rcns-disabled on %s to who opted in", (path) => {
    const exchange = makeExchange({ method: "CANCEL", path, headers: { "allow-rcns": "true" } });
    expect(gate(exchange)).toMatchObject({
      status: 464,
      carried: { reason: "rcns-disabled", explanation: expect.any(String) },
    });
  });

  it.each(["TRUE", "1", "yes", "", "optimistic"])("takes Allow-RCNS: %s for no opt-in", (value) => {
    const headers = { "allow-rcns": value };
    expect(gate(makeExchange({ path: "/nowhere", headers }))?.status).toBe(404);
  });

  it("does not negotiate for a request that a handler dispatches", () => {
    expect(gate(innerOf({ "allow-rcns": "true" }))?.status).toBe(404);
  });
});

// AGTP-API §10.1.4
describe("presentationGate", () => {
  const gate = presentationGate();

  it("passes a request that presents no contract", () => {
    expect(gate(makeExchange())).toBeUndefined();
  });

  it.each(["contract-synthesized", "synthesis-id"])("answers 404 for an unknown %s", (name) => {
    expect(gate(makeExchange({ headers: { [name]: "syn-1" } }))).toMatchObject({
      status: 404,
      code: "contract-not-found",
    });
  });

  it("does not look at what the outer request presented", () => {
    expect(gate(innerOf({ "contract-synthesized": "syn-1" }))).toBeUndefined();
  });
});
