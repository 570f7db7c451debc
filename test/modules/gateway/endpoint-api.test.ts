import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { passFields } from "../../../src/modules/gateway/endpoint-api.ts";
import { isWireFault } from "../../../src/wire/message-parser.ts";

const OWN = { agentId: "d".repeat(64), ownerId: "desk-owner" };

function pass(raw: readonly string[]): Readonly<Record<string, string>> | string {
  const fields = passFields(raw, OWN);
  return isWireFault(fields) ? fields.code : Object.fromEntries(fields);
}

const IDENTITY = { "agent-id": OWN.agentId, "owner-id": OWN.ownerId };

// formats "The HTTP sidecar": identity headers from HTTP are never believed
describe("passFields", () => {
  it("says who asks, whatever the client says of itself", () => {
    const claims = ["Agent-ID", "e".repeat(64), "owner-ID", "evil", "AGTP-Zone-ID", "zone:evil"];
    expect(pass([...claims, "Delegation-Chain", "x", "Trust-Tier", "1"])).toEqual(IDENTITY);
    expect(passFields([], { ...OWN, ownerId: undefined })).toEqual(
      new Map([["agent-id", OWN.agentId]]),
    );
  });

  it("passes what says what is asked for, and the opt-in to negotiation never", () => {
    const passed = {
      ...{ "request-id": "r", "task-id": "t", "session-id": "s", "idempotency-key": "k" },
      ...{ "contract-synthesized": "c", "authority-scope": "a:b", authorization: "Bearer x" },
      ...{ "content-type": "application/json", accept: "*/*" },
    };
    const raw = [
      ...Object.entries(passed).flat(),
      "Allow-RCNS",
      "true",
      "RCNS-Idempotency-Key",
      "k",
    ];
    expect(pass(raw)).toEqual({ ...IDENTITY, ...passed });
  });

  it("joins a list that comes in parts, and refuses an identifier that comes twice", () => {
    expect(pass(["Authority-Scope", "a:b", "authority-scope", "c:d"])).toMatchObject({
      "authority-scope": "a:b, c:d",
    });
    for (const name of ["Session-ID", "Authorization", "Idempotency-Key", "Content-Type"]) {
      expect(pass([name, "a", name.toLowerCase(), "a"])).toBe("invalid-wire-format");
    }
  });

  it("never passes another identity than its own", () => {
    const name = fc.mixedCase(fc.constantFrom("agent-id", "owner-id", "allow-rcns", "x-agent-id"));
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.string())), (pairs) => {
        expect(pass(pairs.flat())).toEqual(IDENTITY);
      }),
    );
  });
});
