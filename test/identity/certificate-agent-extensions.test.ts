import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AgentExtensionName,
  AgentExtensionOid,
  isAgentExtension,
  readAgentExtensions,
} from "../../src/identity/certificate-agent-extensions.ts";

const AGENT_ID = "0123456789abcdef".repeat(4);

/** A DER string of a type. */
function der(tag: number, text: string): Buffer {
  const octets = Buffer.from(text, "utf8");
  const length = octets.length < 128 ? [octets.length] : [0x81, octets.length];
  return Buffer.concat([Buffer.from([tag, ...length]), octets]);
}

type Values = Readonly<Partial<Record<AgentExtensionName, string | Buffer>>>;

/** Reads extensions by name; an agent-id is among them unless it says otherwise. */
function read(values: Values, agentId: string | undefined = AGENT_ID) {
  const all = { ...(agentId === undefined ? {} : { "agent-id": agentId }), ...values };
  const entries = Object.entries(all).map(([name, value]) => {
    const [oid] = AgentExtensionOid[name as AgentExtensionName];
    return [oid, { isCritical: false, value: Buffer.from(value) }] as const;
  });
  return readAgentExtensions(new Map(entries));
}

const SHORT = [0x0c, 0x13, 0x16] as const;

// AGTP-CERT "Agent Certificate Profile"
describe("readAgentExtensions", () => {
  it("finds no agent in a plain certificate", () => {
    const value = Buffer.from("0500", "hex");
    const extensions = new Map([["2.5.29.19", { isCritical: true, value }]]);
    expect(readAgentExtensions(extensions)).toBeUndefined();
  });

  it.each(SHORT)("reads text as it is and as a DER string of tag %i", (tag) => {
    const plain = read({ "owner-id": "owner:1", archetype: "assistant" });
    const wrapped = read({ "owner-id": der(tag, "owner:1"), archetype: der(tag, "assistant") });
    expect(plain).toMatchObject({ ownerId: "owner:1", archetype: "assistant" });
    expect(wrapped).toEqual(plain);
  });

  it.each([
    ["agent-id", AGENT_ID.toUpperCase()],
    ["agent-id", AGENT_ID.slice(1)],
    ["agent-id", `${AGENT_ID}\n`],
    ["agent-id", ""],
    ["agent-id", Buffer.concat([der(0x0c, AGENT_ID), Buffer.from([0])])],
    ["agent-id", Buffer.concat([Buffer.from([0x0c, 0x81, 0x40]), Buffer.from(AGENT_ID)])],
    ["agent-id", der(0x04, AGENT_ID)],
    ["owner-id", "owner 1"],
    ["owner-id", "ö"],
    ["owner-id", "o".repeat(257)],
    ["authority-scope-commitment", "booking"],
    ["authority-scope-commitment", "a:b,,c:d"],
    ["authority-scope-commitment", new Array(257).fill("a:b").join(",")],
    ["governance-zone", "eu"],
    ["governance-zone", "zone:"],
    ["governance-zone", "zone:e u"],
    ["governance-zone", `zone:${"e".repeat(252)}`],
    ["trust-tier", "1"],
    ["trust-tier", Buffer.from([2, 1, 0])],
    ["trust-tier", Buffer.from([2, 1, 4])],
    ["trust-tier", Buffer.from([2, 2, 0, 1])],
    ["trust-tier", Buffer.from([2, 1, 1, 0])],
    ["archetype", ""],
    ["archetype", "a\0b"],
    ["archetype", Buffer.from([0xc3, 0x28])],
    ["archetype", der(0x16, "ä")],
    ["activation-certificate-id", "abc"],
    ["agtp-ctl-sct", ""],
  ] as const)("finds the fault in %s: %j", (name, value) => {
    expect(read({ [name]: value })).toEqual({ fault: `has a malformed ${name} extension` });
  });

  it.each([1, 2, 3])("reads the trust tier %i", (tier) => {
    expect(read({ "trust-tier": Buffer.from([2, 1, tier]) })).toMatchObject({ trustTier: tier });
  });

  it("tells a commitment to no scope from none at all", () => {
    expect(read({ "authority-scope-commitment": "" })).toMatchObject({ scopes: [] });
    expect(read({})).toMatchObject({ scopes: undefined });
  });

  it("takes what it does not use", () => {
    const values = { "activation-certificate-id": AGENT_ID, "agtp-ctl-sct": Buffer.from([0, 1]) };
    expect(read(values)).toEqual(read({}));
  });

  it.each([
    ["owner-id", "owner-1"],
    ["authority-scope-commitment", "a:b"],
    ["authority-scope-commitment", ""],
    ["governance-zone", "zone:eu"],
    ["trust-tier", Buffer.from([2, 1, 1])],
    ["archetype", "assistant"],
    ["activation-certificate-id", AGENT_ID],
    ["agtp-ctl-sct", "receipt"],
  ] as const)("finds the fault in %s without an agent-id", (name, value) => {
    const [oid] = AgentExtensionOid[name];
    const extensions = new Map([[oid, { isCritical: true, value: Buffer.from(value) }]]);
    expect(readAgentExtensions(extensions)).toEqual({
      fault: "has extensions of an agent, but no agent-id",
    });
  });

  it.each(["agent-id", "owner-id"] as const)("reads %s under its other identifier", (name) => {
    const [known, renamed] = AgentExtensionOid[name];
    const text = (value: string) => ({ isCritical: true, value: Buffer.from(value) });
    const agent = name === "agent-id" ? [] : [[AgentExtensionOid["agent-id"][1], text(AGENT_ID)]];
    const pair = (one: string, other: string) =>
      readAgentExtensions(
        new Map([...(agent as []), [known, text(one)], [renamed, text(other)]] as const),
      );
    expect(pair(AGENT_ID, AGENT_ID)).toMatchObject({ agentId: AGENT_ID });
    expect(pair(AGENT_ID, "f".repeat(64))).toEqual({
      fault: `has two ${name} extensions that differ`,
    });
    expect(pair(AGENT_ID, "?")).toHaveProperty("fault");
    expect(pair("?", AGENT_ID)).toHaveProperty("fault");
  });

  it("takes any octets for an agent or a fault, and throws for none", () => {
    const value = fc.uint8Array({ maxLength: 80 }).map((octets) => Buffer.from(octets));
    const names = Object.keys(AgentExtensionOid) as AgentExtensionName[];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), (values) => {
        const agent = read(values);
        if (agent !== undefined && !("fault" in agent)) expect(agent.agentId).toBe(AGENT_ID);
      }),
      { numRuns: 500 },
    );
  });
});

describe("isAgentExtension", () => {
  it("knows every identifier of the profile, and no other", () => {
    const all = Object.values(AgentExtensionOid).flat();
    expect(all).toHaveLength(10);
    expect(new Set(all).size).toBe(10);
    expect(all.every(isAgentExtension)).toBe(true);
    expect(["2.5.29.19", "2.25", "toString", ""].some(isAgentExtension)).toBe(false);
  });
});
