import { describe, expect, it } from "vitest";
import { atOnce } from "../../../src/base/paced.ts";
import { creatingAgentDirectory } from "../../../src/identity/agent-directory.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import { ownAddress } from "../../../src/identity/own-address.ts";
import { type AddressBook, resolveRecipients } from "../../../src/modules/delivery/recipients.ts";

const ALICE = "a".repeat(64);
const RITA = "b".repeat(64);
const STRANGER = "d".repeat(64);

const documents = [
  { agentId: ALICE, name: "alice" },
  { agentId: RITA, name: "rita" },
] as unknown as readonly AgentDocument[];

const book: AddressBook = {
  directory: atOnce(creatingAgentDirectory(documents)),
  isRetired: ({ name }) => name === "rita",
  isDisclosedTo: (sender) => sender !== STRANGER,
  webhooks: { desk: "https://desk.example/", constructor: "https://odd.example/" },
  groups: {
    night: ["alice", "webhook:desk", "ghost"],
    pair: ["alice", ALICE],
    all: ["alice", "rita"],
  },
  isOwnAddress: ownAddress({ serverId: "s1", domain: "agents.example", host: "::1", port: 4480 }),
};

const alice = { kind: "agent", name: "alice", agentId: ALICE };
const desk = { kind: "webhook", name: "webhook:desk", url: "https://desk.example/" };

function nobody(name: string) {
  return { kind: "nobody", name, reason: "recipient-not-found" };
}

// AGTP "NOTIFY" recipient, AGTP "URI Scheme"
describe("resolveRecipients", () => {
  it.each([
    "alice",
    ALICE,
    `agtp://${ALICE}`,
    `agtp://${ALICE}/`,
    `agtp://${ALICE}@elsewhere.example:4480`,
    "agtp://agents.example/agents/alice",
    "AGTP://Agents.Example:4480/agents/alice",
    "agtp://agtp.agents.example/agents/alice",
    "agtp://[::1]:4480/agents/alice",
    `agtp://agents.example/agents/${ALICE}`,
  ])("knows an agent as %s", (address) => {
    expect(resolveRecipients([address], book)).toEqual([alice]);
  });

  it.each([
    ...["bob", "", "c".repeat(64), "webhook:", "webhook:nobody", "group:", "group:none"],
    ...["webhook:toString", "group:constructor", "group:__proto__", "infrastructure:broadcast"],
    ...["agtp://elsewhere.example/agents/alice", "agtp://agents.example", "agtp:alice", "agtp://"],
    ...["agtp://agents.example/alice", "agtp://alice@agents.example/agents/alice"],
    ...[`agtp://${ALICE}/agents/alice`, "agtp://agents.example/agents/alice?x=1"],
    ...["agtp://agents.example:4481/agents/alice", "agtp://localhost:0/agents/alice"],
    ...["https://desk.example/", "mailto:alice@agents.example"],
  ])("knows nobody as %j", (address) => {
    expect(resolveRecipients([address], book)).toEqual([nobody(address)]);
  });

  it("knows webhooks by the names of the configuration", () => {
    expect(resolveRecipients(["webhook:desk"], book)).toEqual([desk]);
    expect(resolveRecipients(["webhook:constructor"], book)[0]?.kind).toBe("webhook");
  });

  it("knows the members of a group, each for itself", () => {
    expect(resolveRecipients(["group:night"], book)).toEqual([alice, desk, nobody("ghost")]);
  });

  it("knows an agent that its sender is not shown by its Agent-ID alone, and says nothing of it", () => {
    const resolve = (address: string) => resolveRecipients([address], book, STRANGER);
    for (const address of ["alice", "rita", "agtp://agents.example/agents/alice"]) {
      expect(resolve(address)).toEqual([nobody(address)]);
    }
    for (const address of [ALICE, `agtp://${ALICE}`]) {
      expect(resolve(address)).toEqual([{ kind: "agent", name: address, agentId: ALICE }]);
    }
    expect(resolve("group:all")).toEqual([
      { kind: "agent", name: "group:all", agentId: ALICE },
      { kind: "nobody", name: "group:all", reason: "agent-retired" },
    ]);
    expect(resolveRecipients(["alice"], book, ALICE)).toEqual([alice]);
  });

  it("names everybody once", () => {
    const addresses = ["group:pair", "alice", "group:night", "webhook:desk", "ghost"];
    expect(resolveRecipients(addresses, book)).toEqual([alice, desk, nobody("ghost")]);
  });

  it("says that an agent is retired, once", () => {
    expect(resolveRecipients([RITA, "rita"], book)).toEqual([
      { kind: "nobody", name: RITA, reason: "agent-retired", agentId: RITA },
    ]);
    expect(resolveRecipients(["rita"], book)).toEqual([
      { kind: "nobody", name: "rita", reason: "agent-retired", agentId: RITA },
    ]);
  });
});
