import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  type AgentOptions,
  issueAgent,
  issueGenesis,
  signDocument,
} from "../../src/identity/issue.ts";
import { loadAgents } from "../../src/identity/load-agents.ts";
import { makeDirectory } from "../support/directory.ts";
import {
  AGENT,
  agentIdOf,
  canonical,
  DOCUMENT,
  ISSUER,
  STRANGER,
  signIdentity,
  without,
} from "../support/genesis.ts";

const OPTIONS: AgentOptions = {
  name: "łauren",
  description: "Answers guests at the front desk.",
  principal: "Harbour Hotel",
  principalId: "harbour-hotel.example",
  ownerId: "harbour-hotel",
  governanceZone: "zone:eu-west",
  scopes: ["booking:room"],
  issuer: "https://harbour-hotel.example",
  issuerKey: ISSUER.privateKey,
};

describe("issueGenesis", () => {
  it("gives a Genesis of the drafts, and the Agent-ID that anybody derives from it", () => {
    const issuedAt = new Date("2026-05-01T09:00:00Z");
    const { genesis, agentId, problems } = issueGenesis({ ...OPTIONS, issuedAt });
    expect(problems).toEqual([]);
    expect(agentId).toBe(agentIdOf(genesis));
    expect(genesis).toEqual({
      agent_id: agentId,
      name: "łauren",
      owner: "harbour-hotel",
      owner_id: "harbour-hotel",
      principal_id: "harbour-hotel.example",
      archetype: "assistant",
      governance_zone: "zone:eu-west",
      scope: ["booking:room"],
      issued_at: "2026-05-01T09:00:00.000Z",
      issuer: "https://harbour-hotel.example",
      issuer_public_key: ISSUER.text,
      trust_tier: 2,
      verification_path: "org-asserted",
      signature: signatureOf(without(genesis, "agent_id", "signature")),
    });
  });

  it("gives two agents that differ in their key or their name two Agent-IDs", () => {
    const issuedAt = new Date();
    const variants = [{}, { agentPublicKey: AGENT.publicKey }, { name: "max" }];
    const ids = variants.map((more) => issueGenesis({ ...OPTIONS, issuedAt, ...more }).agentId);
    expect(new Set(ids).size).toBe(3);
  });

  it.each([
    [{ ownerId: "a b" }, ["owner_id"]],
    [{ ownerId: "" }, ["owner", "owner_id"]],
    [{ name: " " }, ["name"]],
    [{ governanceZone: "" }, ["governance_zone"]],
    [{ scopes: ["room"] }, ["scope[0]"]],
    [{ issuer: "" }, ["issuer"]],
    [{ verificationPath: "a b" }, ["verification_path"]],
  ])("says of %j what would keep it from loading", (members, keys) => {
    const { problems } = issueGenesis({ ...OPTIONS, ...members });
    expect(problems.map(({ key }) => key)).toEqual(keys);
  });

  it("takes no other key than an Ed25519 private one", () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    for (const issuerKey of [privateKey, ISSUER.publicKey.key]) {
      expect(() => issueGenesis({ ...OPTIONS, issuerKey })).toThrow(TypeError);
    }
  });
});

describe("issueAgent", () => {
  it.each([
    {},
    {
      archetype: "monitor",
      trustTier: 1,
      verificationPath: "dns-anchored",
      agentPublicKey: AGENT.publicKey,
    },
    { trustTier: 3, scopes: [] },
  ] as const)("gives two files that load clean: %o", (more) => {
    const options = { ...OPTIONS, ...more };
    const { agentId, genesis, document, problems } = issueAgent(options);
    expect(problems).toEqual([]);
    const directory = makeDirectory({
      "agents/lauren.agent.json": JSON.stringify(document, undefined, 2),
      "agents/lauren.genesis.json": JSON.stringify(genesis, undefined, 2),
    });
    const loaded = loadAgents({
      directory,
      agentsDir: "agents",
      trustedIssuers: [ISSUER.publicKey],
    });
    expect(loaded.problems).toEqual([]);
    expect(loaded.documents).toMatchObject([
      {
        agentId,
        name: "łauren",
        ownerId: "harbour-hotel",
        status: "active",
        signature: "trusted",
        scopes: options.scopes,
        trustTier: more.trustTier ?? 2,
        genesis: { agentId, isTrusted: true },
      },
    ]);
  });

  it("says what would keep either file from loading", () => {
    const { problems } = issueAgent({ ...OPTIONS, description: "", ownerId: "a b" });
    expect(problems).toMatchObject([
      { file: "genesis", key: "owner_id" },
      { file: "document", key: "description" },
      { file: "document", key: "owner_id" },
    ]);
  });
});

describe("signDocument", () => {
  it("signs what another implementation verifies", () => {
    const unsigned = { ...DOCUMENT, agent_id: "ab".repeat(32) };
    const signed = signDocument(unsigned, ISSUER.privateKey, "https://issuer.example");
    expect(signed).toEqual(signIdentity(unsigned));
  });

  it("replaces the signature of a document that has one", () => {
    const resigned = signDocument(signIdentity(DOCUMENT, STRANGER), ISSUER.privateKey, "https://b");
    expect(resigned).toEqual(signDocument(DOCUMENT, ISSUER.privateKey, "https://b"));
  });
});

function signatureOf(document: object): string {
  return sign(null, Buffer.from(canonical(document)), ISSUER.privateKey).toString("base64url");
}
