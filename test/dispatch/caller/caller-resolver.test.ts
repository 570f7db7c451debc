/** Callers that are remembered in one place. */
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../src/base/paced.ts";
import { createCallerResolver } from "../../../src/dispatch/caller/caller-resolver.ts";
import type { IdentityConfig } from "../../../src/dispatch/policy/policies-section.ts";
import { creatingAgentDirectory } from "../../../src/identity/agent-directory.ts";
import { readAgentFile } from "../../../src/identity/agent-file.ts";
import { agentFile } from "../../support/deployment.ts";

const POLICY: IdentityConfig = {
  ...{ unknownAgents: "reject", unknownTrustTier: 3, assurance: "header" },
  ...{ allowUnverifiedIdentity: false, lifecycleAuth: "genesis_issuer", trustedIssuers: [] },
  ...{ inspectAcl: "agent_only", operatorCertificates: [] },
};
/** They have one place, and differ at their beginning. */
const AGENTS = ["a", "b", "c"].map((first) => first + "0".repeat(63));

function openResolver() {
  const documents = AGENTS.map((agentId, index) => {
    const text = agentFile({ agent_id: agentId, name: `n${index}`, scopes_accepted: ["a:b"] });
    const { document } = readAgentFile(text, `agents/n${index}.agent.json`);
    if (document === undefined) throw new Error("the document has problems");
    return document;
  });
  const resolve = createCallerResolver(atOnce(creatingAgentDirectory(documents)), POLICY);
  return (agentId: string, claim?: string) => resolve(agentId, claim, {});
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
});
