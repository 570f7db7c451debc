/** Identities that the server issues for the agents that it hosts. */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../src/base/paced.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import { publicKeyOf } from "../../../src/identity/ed25519.ts";
import { readGenesisFile } from "../../../src/identity/genesis.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import {
  type HostedAgent,
  type HostIssuer,
  identifyHosted,
  openHostedIdentities,
} from "../../../src/state/registers/hosted-identity.ts";
import type { Store } from "../../../src/state/store.ts";

const CLERK: HostedAgent = {
  key: "openwop/core.harbour.clerk",
  name: "core.harbour.clerk",
  description: "Sorts requests.",
  scopes: ["booking:room"],
  file: "agents/openwop/clerk/pack.json",
};
const SIGNER = generateKeyPairSync("ed25519").privateKey;
const ISSUER = { serverId: "agents.example", operator: "Harbour", signingKey: SIGNER };

function identify(
  agents: readonly HostedAgent[],
  store: Store,
  issuer: HostIssuer,
  known: readonly AgentDocument[],
) {
  return identifyHosted(agents, issuer, {
    ...{ openKept: () => openHostedIdentities(store), known, drive: atOnce },
  });
}

describe("an identity", () => {
  it("is issued and signed by this server, and verifies", async () => {
    const { documents, issued, problems } = await identify(
      [CLERK],
      createMemoryStore(),
      ISSUER,
      [],
    );
    expect(problems).toEqual([]);
    const document = documents.get(CLERK.key);
    expect(issued).toEqual([document]);
    expect(document).toMatchObject({
      name: "core.harbour.clerk",
      ...{ description: "Sorts requests.", scopes: ["booking:room"], status: "active" },
      ...{ signature: "trusted", trustTier: 2, ownerId: "server:agents.example" },
    });
    const trusted = publicKeyOf(SIGNER);
    const text = Buffer.from(document?.genesis?.canonical ?? []).toString("utf8");
    const read = readGenesisFile(text, "genesis", trusted === undefined ? [] : [trusted]);
    expect(read.problems).toEqual([]);
    expect(read.genesis).toMatchObject({ agentId: document?.agentId, isTrusted: true });
  });

  it("stays the same, whatever becomes of the description, the scopes and the key", async () => {
    const store = createMemoryStore();
    const first = await identify([CLERK], store, ISSUER, []);
    await first.keep();
    const changed = { ...CLERK, description: "Sorts them better.", scopes: [] };
    const another = { ...ISSUER, signingKey: generateKeyPairSync("ed25519").privateKey };
    for (const issuer of [ISSUER, another, { ...ISSUER, signingKey: undefined }]) {
      const { documents } = await identify([changed], store, issuer, []);
      const document = documents.get(CLERK.key);
      expect(document?.agentId).toBe(first.issued[0]?.agentId);
      expect(document).toMatchObject({ description: "Sorts them better.", scopes: [] });
      expect(document?.genesis?.isTrusted).toBe(true);
    }
  });

  it("is issued once, also where two servers issue it at the same moment", async () => {
    const store = createMemoryStore();
    const first = await identify([CLERK], store, ISSUER, []);
    const second = await identify([CLERK], store, ISSUER, []);
    await first.keep();
    await expect(second.keep()).rejects.toThrow("another server has issued an identity");
    await first.keep();
    const third = await identify([CLERK], store, ISSUER, []);
    expect(third.issued[0]?.agentId).toBe(first.issued[0]?.agentId);
  });

  it("is not kept before it is asked for", async () => {
    const store = createMemoryStore();
    for (let time = 0; time < 2; time += 1) {
      // Issued once more, since nothing is known of the one before.
      const { issued } = await identify([CLERK], store, ISSUER, []);
      expect(issued.map(({ name }) => name)).toEqual([CLERK.name]);
    }
    expect(await store.list("hosted-identities")).toEqual([]);
  });

  it("is issued without a key of the server's, too", async () => {
    const issuer = { ...ISSUER, signingKey: undefined };
    const { issued } = await identify([CLERK], createMemoryStore(), issuer, []);
    expect(issued[0]).toMatchObject({ signature: "none", scopes: ["booking:room"] });
    expect(issued[0]?.genesis?.agentId).toBe(issued[0]?.agentId);
  });

  it("is the operator's where there is one of that name", async () => {
    const elsewhere = await identify([CLERK], createMemoryStore(), ISSUER, []);
    const own = elsewhere.issued.map(({ issuedFor: _, ...document }) => document);
    const store = createMemoryStore();
    const { documents, issued, keep } = await identify([CLERK], store, ISSUER, own);
    await keep();
    expect(documents.get(CLERK.key)).toBe(own[0]);
    expect(issued).toEqual([]);
    expect(await store.list("hosted-identities")).toEqual([]);
  });

  it("is not given twice under one name", async () => {
    const twin = { ...CLERK, key: "agntcy/clerk", file: "agents/agntcy/clerk.json" };
    const { issued, problems } = await identify([CLERK, twin], createMemoryStore(), ISSUER, []);
    expect(issued).toHaveLength(1);
    expect(problems).toEqual([
      {
        file: "agents/agntcy/clerk.json",
        key: "",
        message: 'another hosted agent is called "core.harbour.clerk" already',
      },
    ]);
  });

  it("is not that of another system's agent of its name", async () => {
    const store = createMemoryStore();
    const { issued: known } = await identify([CLERK], store, ISSUER, []);
    const twin = { ...CLERK, key: "agntcy/clerk", file: "agents/agntcy/clerk.json" };
    const { documents, issued, problems } = await identify([twin], store, ISSUER, known);
    expect([...documents, ...issued]).toEqual([]);
    expect(problems).toMatchObject([{ file: "agents/agntcy/clerk.json" }]);
  });

  it("that was tampered with in the store is a problem, not another identity", async () => {
    const store = createMemoryStore();
    const first = await identify([CLERK], store, ISSUER, []);
    await first.keep();
    const [entry] = await store.list("hosted-identities");
    const value = { ...(entry?.value as object), scope: ["payment:make"] };
    const { key } = CLERK;
    await store.commit([{ kind: "put", collection: "hosted-identities", key, value }]);
    const { issued, problems } = await identify([CLERK], store, ISSUER, []);
    expect(issued).toEqual([]);
    expect(problems.map(({ key: member }) => member)).toContain("signature");
  });
});
