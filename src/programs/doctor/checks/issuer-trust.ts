/**
 * Agents whose issuers this server does not trust, or no longer: what their documents grant is
 * ignored, so that they look hosted and can do nothing.   AGTP-TRUST "Trust Anchors"
 */
import type { AgentDocument } from "../../../identity/agent-document.ts";
import type { Check, Observation } from "../finding.ts";

const REMEDY =
  "list the issuer in policies.identity.trusted_issuers, or take away what a revoked one signed";

/** The check `issuer-trust`. */
export const issuerTrust: Check = {
  id: "issuer-trust",
  asks: "are the issuers of agents trusted?",
  look: ({ agents }) => agents.flatMap(judge),
};

function judge({ file, signature, genesis }: AgentDocument): readonly Observation[] {
  const untrusted: Observation[] = [];
  if (signature === "untrusted") {
    const message =
      "is signed by an issuer that is not trusted: the agent holds none of its scopes";
    untrusted.push({
      ...{ severity: "warning", file, key: "manifest_issuer_public_key" },
      ...{ message, remedy: REMEDY },
    });
  }
  if (genesis !== undefined && !genesis.isTrusted) {
    const message = "is signed by an issuer that is not trusted: what it says of trust is ignored";
    untrusted.push({
      ...{ severity: "warning", file: genesis.file, key: "issuer_public_key" },
      ...{ message, remedy: REMEDY },
    });
  }
  return untrusted;
}
