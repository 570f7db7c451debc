import { describe, expect, it } from "vitest";
import { SessionRegister, type SessionUser } from "../../src/identity/session-register.ts";

const ALICE: SessionUser = { agentId: "a".repeat(64), tlsIdentity: "f1", isHosted: true };
const BOB: SessionUser = { agentId: "b".repeat(64), tlsIdentity: "f2", isHosted: true };
const STRANGER: SessionUser = { agentId: "e".repeat(64), tlsIdentity: undefined, isHosted: false };
const NOBODY: SessionUser = { agentId: undefined, tlsIdentity: undefined, isHosted: false };

const DAY = 24 * 3_600_000;

// AGTP "Sessions"
describe("SessionRegister", () => {
  it("gives a session to the agent that uses it first", () => {
    const register = new SessionRegister();
    expect(register.admit("s-1", ALICE)).toBe(true);
    expect(register.admit("s-1", ALICE)).toBe(true);
    expect(register.admit("s-2", BOB)).toBe(true);
  });

  it.each([
    ["another agent", BOB],
    ["another agent with the same certificate", { ...BOB, tlsIdentity: "f1" }],
    ["the same agent with another certificate", { ...ALICE, tlsIdentity: "f9" }],
    ["the same agent without a certificate", { ...ALICE, tlsIdentity: undefined }],
    ["an agent that the server does not know", STRANGER],
    ["whoever names no agent", NOBODY],
    ["nobody with the agent's certificate", { ...NOBODY, tlsIdentity: "f1" }],
  ])("refuses it to %s", (_, user) => {
    const register = new SessionRegister();
    register.admit("s-1", ALICE);
    expect(register.admit("s-1", user)).toBe(false);
    expect(register.admit("s-1", ALICE)).toBe(true);
  });

  it("keeps no session of strangers and of nobody", () => {
    const register = new SessionRegister();
    expect(register.admit("s-1", STRANGER)).toBe(true);
    expect(register.admit("s-1", NOBODY)).toBe(true);
    expect(register.admit("s-1", ALICE)).toBe(true);
    expect(register.admit("s-1", STRANGER)).toBe(false);
  });

  it("forgets the session that an agent has not used for longest", () => {
    const register = new SessionRegister({ sessionsPerAgent: 3 });
    for (const id of ["s-1", "s-2", "s-3"]) register.admit(id, ALICE);
    register.admit("s-1", ALICE);
    register.admit("s-4", ALICE);
    expect(register.admit("s-2", BOB)).toBe(true);
    for (const id of ["s-1", "s-3", "s-4"]) expect(register.admit(id, BOB)).toBe(false);
  });

  it("remembers for a day whose a session is, and when it was last used", () => {
    const clock = { at: 0 };
    const register = new SessionRegister({ now: () => clock.at });
    register.admit("s-1", ALICE);
    clock.at = DAY - 1;
    register.admit("s-1", ALICE);
    expect(register.find("s-1")).toMatchObject({ agentId: ALICE.agentId, lastActivityAt: DAY - 1 });
    clock.at = 2 * DAY - 2;
    expect(register.admit("s-1", BOB)).toBe(false);
    clock.at = 2 * DAY - 1;
    expect(register.find("s-1")).toBeUndefined();
    expect(register.admit("s-1", BOB)).toBe(true);
    expect(register.admit("s-1", ALICE)).toBe(false);
  });

  it("gives a session that was let go to whoever uses it next", () => {
    const register = new SessionRegister();
    register.admit("s-1", ALICE);
    register.forget("s-1");
    register.forget("s-2");
    expect(register.admit("s-1", BOB)).toBe(true);
  });

  it("lets no agent push out another's session", () => {
    const register = new SessionRegister({ sessionsPerAgent: 2 });
    register.admit("s-1", ALICE);
    for (let more = 0; more < 100; more += 1) register.admit(`t-${more}`, BOB);
    expect(register.admit("s-1", BOB)).toBe(false);
    expect(register.admit("s-1", ALICE)).toBe(true);
  });
});
