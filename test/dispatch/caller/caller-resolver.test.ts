/** Callers that are remembered in one place. */
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../src/base/paced.ts";
import { createCallerResolver } from "../../../src/dispatch/caller/caller-resolver.ts";
import type { IdentityConfig } from "../../../src/dispatch/policy/policies-section.ts";
import { creatingAgentDirectory } from "../../../src/identity/agent-directory.ts";
import { readAgentFile } from "../../../src/identity/agent-file.ts";
import type { ClientCertificate } from "../../../src/identity/client-certificate.ts";
import { agentFile } from "../../support/deployment.ts";

const POLICY: IdentityConfig = {
  ...{ unknownAgents: "reject", unknownTrustTier: 3, assurance: "header" },
  ...{ allowUnverifiedIdentity: false, lifecycleAuth: "genesis_issuer", trustedIssuers: [] },
  ...{ inspectAcl: "agent_only", operatorCertificates: [] },
};
/** The first three have one place, and differ at their beginning; that of the last is next to it. */
const AGENTS = [
  ...["a", "b", "c"].map((first) => first + "0".repeat(63)),
  `${"0".repeat(58)}100000`,
];

function openAgents() {
  const documents = AGENTS.map((agentId, index) => {
    const text = agentFile({ agent_id: agentId, name: `n${index}`, scopes_accepted: ["a:b"] });
    const { document } = readAgentFile(text, `agents/n${index}.agent.json`);
    if (document === undefined) throw new Error("the document has problems");
    return document;
  });
  return atOnce(creatingAgentDirectory(documents));
}

function openResolver() {
  const resolve = createCallerResolver(openAgents(), POLICY);
  return (agentId: string, claim?: string) => resolve(agentId, claim, {});
}

const AGENT_ID = AGENTS[0] ?? "";

function certificateOf(scopes: readonly string[]): ClientCertificate {
  const hash = "0".repeat(64);
  return {
    ...{ serialNumber: "1", fingerprint: hash, keyFingerprint: hash, spkiFingerprint: hash },
    notAfter: Number.MAX_SAFE_INTEGER,
    agent: {
      ...{ agentId: AGENT_ID, ownerId: undefined, scopes, governanceZone: undefined },
      ...{ trustTier: undefined, archetype: undefined },
    },
  };
}

/** Proofs of one agent, at a server that admits none by its header alone. */
const PROOFS = [
  {},
  { speaksAs: AGENT_ID },
  { speaksAs: AGENT_ID, scopes: ["c:d"] },
  { certificate: certificateOf(["a:b"]) },
  { certificate: certificateOf(["c:d"]) },
  { certificate: certificateOf(["a:b"]), scopes: ["c:d"] },
];

function openStrictResolver() {
  const resolve = createCallerResolver(openAgents(), { ...POLICY, assurance: "certificate" });
  return (proof: (typeof PROOFS)[number]) => {
    const resolution = resolve(AGENT_ID, undefined, proof);
    if ("kind" in resolution) return resolution.code;
    const { isCertified, authority } = resolution.caller;
    return { isCertified, scopes: authority.scopes, isCovered: authority.covers("a:b") };
  };
}

describe("a caller", () => {
  it("is itself, whoever asks in turn with it", () => {
    const resolve = openResolver();
    for (let round = 0; round < 3; round += 1) {
      for (const agentId of AGENTS) expect(resolve(agentId)).toMatchObject({ caller: { agentId } });
    }
  });

  it("is remembered beside another one of its place", () => {
    const resolve = openResolver();
    const [one = "", two = ""] = AGENTS;
    const [first, second] = [resolve(one), resolve(two)];
    for (let round = 0; round < 3; round += 1) {
      expect(resolve(one)).toBe(first);
      expect(resolve(two)).toBe(second);
    }
    expect(resolve(one, "a:b")).not.toBe(first);
  });

  it("has no more authority than its document, its certificate and its token all grant", () => {
    const resolve = openStrictResolver();
    const all = { scopes: ["a:b"], isCovered: true };
    const none = { scopes: [], isCovered: false };
    expect(PROOFS.map((proof) => resolve(proof))).toEqual([
      "certificate-required",
      { isCertified: false, ...all },
      { isCertified: false, ...none },
      { isCertified: true, ...all },
      { isCertified: true, ...none },
      { isCertified: true, ...none },
    ]);
  });

  it("is remembered beside one whose place is next to its own", () => {
    const resolve = openResolver();
    const [first = "", , , next = ""] = AGENTS;
    const known = resolve(first);
    const other = resolve(next);
    expect(resolve(first)).toBe(known);
    expect(resolve(next)).toBe(other);
  });

  it("is not taken for itself with another proof, whichever two are remembered", () => {
    for (const [first, second] of PROOFS.flatMap((one) =>
      PROOFS.map((two) => [one, two] as const),
    )) {
      for (const proof of PROOFS) {
        const resolve = openStrictResolver();
        resolve(first);
        resolve(second);
        expect(resolve(proof)).toEqual(openStrictResolver()(proof));
      }
    }
  });
});
