import { describe, expect, it } from "vitest";
import { atOnce } from "../../../src/base/paced.ts";
import { ANONYMOUS } from "../../../src/dispatch/caller/caller.ts";
import type { Exchange } from "../../../src/dispatch/exchange.ts";
import { callerGate } from "../../../src/dispatch/gates/00-caller.ts";
import { authorityGate } from "../../../src/dispatch/gates/02-authority.ts";
import type { Gate } from "../../../src/dispatch/gates/gate.ts";
import type { IdentityConfig } from "../../../src/dispatch/policy/policies-section.ts";
import { creatingAgentDirectory } from "../../../src/identity/agent-directory.ts";
import { readAgentFile } from "../../../src/identity/agent-file.ts";
import { agentFile } from "../../support/deployment.ts";
import { makeExchange } from "../../support/exchange.ts";
import { makeStanding } from "../../support/standing.ts";

const ALICE = "a".repeat(64);
const STRANGER = "e".repeat(64);
const POLICY: IdentityConfig = {
  unknownAgents: "reject",
  unknownTrustTier: 3,
  assurance: "header",
  allowUnverifiedIdentity: false,
  lifecycleAuth: "genesis_issuer",
  trustedIssuers: [],
  inspectAcl: "agent_only",
  operatorCertificates: [],
};

function makeGate(scopes: readonly string[], policy: Partial<IdentityConfig> = {}): Gate {
  const text = agentFile({
    agent_id: ALICE,
    name: "alice",
    scopes_accepted: scopes,
    trust_tier: 2,
  });
  const { document } = readAgentFile(text, "agents/alice.agent.json");
  if (document === undefined) throw new Error("the document has problems");
  const caller = callerGate({
    directory: atOnce(creatingAgentDirectory([document])),
    policy: { ...POLICY, ...policy },
    certificates: makeStanding().certificates,
  });
  return (exchange) => caller(exchange) ?? authorityGate(exchange);
}

function ask(headers: Readonly<Record<string, string>>): Exchange {
  return makeExchange({ headers });
}

// AGTP "Request Headers"
describe("callerGate, and authorityGate behind it", () => {
  it("lets a request without Agent-ID pass as anonymous, whatever it claims", () => {
    const exchange = ask({ "authority-scope": "booking:room", "owner-id": "acme" });
    expect(makeGate([])(exchange)).toBeUndefined();
    expect(exchange.caller).toBe(ANONYMOUS);
  });

  it("knows the caller, with all that its document grants", () => {
    const exchange = ask({ "agent-id": ALICE, "owner-id": "acme" });
    expect(makeGate(["booking:room", "vault:*"])(exchange)).toBeUndefined();
    const { caller } = exchange;
    expect(caller).toMatchObject({ agentId: ALICE, ownerId: "acme", trustTier: 2 });
    expect(caller.authority.source).toBe("document");
    expect(caller.authority.covers("vault:open")).toBe(true);
    expect(caller.authority.covers("orders:read")).toBe(false);
  });

  it("keeps the Owner-ID of one request out of the next", () => {
    const gate = makeGate([]);
    const first = ask({ "agent-id": ALICE, "owner-id": "acme" });
    const second = ask({ "agent-id": ALICE });
    gate(first);
    gate(second);
    expect(second.caller.ownerId).toBeUndefined();
  });

  it("narrows the authority to the claim", () => {
    const exchange = ask({ "agent-id": ALICE, "authority-scope": "booking:room" });
    expect(makeGate(["booking:*"])(exchange)).toBeUndefined();
    expect(exchange.caller.authority.scopes).toEqual(["booking:room"]);
    expect(exchange.caller.authority.covers("booking:read")).toBe(false);
  });

  it.each([
    ["a token the document lacks", "orders:read"],
    ["a wildcard over a plain grant", "booking:*"],
    ["the widest wildcard", "*:*"],
    ["one bad token among good ones", "booking:room, orders:read"],
  ])("answers 262 scope-claim-invalid for %s", (_, claim) => {
    const refusal = makeGate(["booking:room"])(
      ask({ "agent-id": ALICE, "authority-scope": claim }),
    );
    expect(refusal).toMatchObject({
      status: 262,
      code: "scope-claim-invalid",
      carried: { type: "scope-claim-invalid" },
    });
  });

  it("answers the same for a claim that it has seen before", () => {
    const gate = makeGate(["booking:room"]);
    const claim = { "agent-id": ALICE, "authority-scope": "orders:read" };
    expect(gate(ask(claim))).toEqual(gate(ask(claim)));
    expect(gate(ask({ "agent-id": ALICE }))).toBeUndefined();
  });

  it("answers 401 for an agent it does not know, with the draft's reason", () => {
    expect(makeGate([])(ask({ "agent-id": STRANGER }))).toMatchObject({
      status: 401,
      code: "agent-unauthenticated",
      carried: { reason: "agent-unauthenticated" },
    });
  });

  it("tells claims apart, however much they look alike", () => {
    const gate = makeGate(["booking:*"]);
    const scopes = ["booking:room", "booking:loom", "booking:room", "booking:boom"];
    const asked = scopes.map((claim) => ask({ "agent-id": ALICE, "authority-scope": claim }));
    for (const exchange of asked) gate(exchange);
    expect(asked.map(({ caller }) => caller.authority.scopes)).toEqual(scopes.map((one) => [one]));
  });

  it("tells agents apart, however much they look alike", () => {
    const gate = makeGate(["booking:room"], { unknownAgents: "accept" });
    const agents = [ALICE, ALICE.slice(0, -1) + (ALICE.endsWith("0") ? "1" : "0"), ALICE];
    const asked = agents.map((agent) => ask({ "agent-id": agent }));
    for (const exchange of asked) gate(exchange);
    expect(asked.map(({ caller }) => caller.agentId)).toEqual(agents);
    expect(asked.map(({ caller }) => caller.authority.source)).toEqual([
      "document",
      "none",
      "document",
    ]);
  });

  it("believes a stranger where the operator accepts strangers", () => {
    const gate = makeGate([], { unknownAgents: "accept", unknownTrustTier: 2 });
    const exchange = ask({ "agent-id": STRANGER, "authority-scope": "booking:*" });
    expect(gate(exchange)).toBeUndefined();
    expect(exchange.caller).toMatchObject({ agentId: STRANGER, trustTier: 2, document: undefined });
    expect(exchange.caller.authority.covers("booking:room")).toBe(true);
  });

  it("gives a stranger without a claim no authority at all", () => {
    const gate = makeGate([], { unknownAgents: "accept" });
    const exchange = ask({ "agent-id": STRANGER });
    expect(gate(exchange)).toBeUndefined();
    expect(exchange.caller.authority.source).toBe("none");
  });

  it("does not let a stranger's claim stand for a known agent", () => {
    const gate = makeGate(["booking:room"], { unknownAgents: "accept" });
    expect(gate(ask({ "agent-id": STRANGER, "authority-scope": "orders:read" }))).toBeUndefined();
    expect(gate(ask({ "agent-id": ALICE, "authority-scope": "orders:read" }))?.status).toBe(262);
  });

  it("takes no Agent-ID at its word where certificates are asked for", () => {
    const gate = makeGate([], { assurance: "certificate" });
    expect(gate(ask({ "agent-id": ALICE }))?.status).toBe(401);
    expect(gate(ask({}))).toBeUndefined();
  });

  it.each([
    ["agent-id", "A".repeat(64), "invalid-canonical-id"],
    ["agent-id", `${ALICE} `, "invalid-canonical-id"],
    ["agent-id", "agtp://acme/agents/alice", "invalid-canonical-id"],
    ["agent-id", "", "invalid-canonical-id"],
    ["request-id", "018f3c2e-7a10-4cc4-9b7e-2f6d5a1c0b42", "invalid-identifier"],
    ["request-id", "01ARZ3NDEKTSV4RRFFQ69G5FAU", "invalid-identifier"],
    ["task-id", "", "invalid-identifier"],
    ["task-id", "x".repeat(257), "invalid-identifier"],
    ["session-id", "\u00e9", "invalid-identifier"],
    ["owner-id", "acme corp", "invalid-identifier"],
  ])("answers 400 for %s: %j", (name, value, code) => {
    const headers = { "agent-id": ALICE, [name]: value };
    expect(makeGate([])(ask(headers))).toMatchObject({ status: 400, code });
  });

  it.each([
    ["request-id", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
    ["request-id", "018F3C2E-7A10-7CC4-9B7E-2F6D5A1C0B42"],
    ["task-id", "urn:task:1"],
    ["owner-id", "acme:eu.west-1_a"],
  ])("takes %s: %s", (name, value) => {
    expect(makeGate([])(ask({ "agent-id": ALICE, [name]: value }))).toBeUndefined();
  });

  it.each(["booking", ":room", "booking:", "a:b,,c:d", "a:b;c:d", "a:\u00e9"])(
    "answers 400 for Authority-Scope: %s",
    (claim) => {
      const refusal = makeGate(["a:b"])(ask({ "agent-id": ALICE, "authority-scope": claim }));
      expect(refusal).toMatchObject({ status: 400, code: "invalid-authority-scope" });
    },
  );

  it("answers 501 for a Delegation-Chain, and names the feature", () => {
    expect(makeGate([])(ask({ "agent-id": ALICE, "delegation-chain": "x" }))).toMatchObject({
      status: 501,
      carried: { feature: "delegation-chain" },
    });
  });
});
