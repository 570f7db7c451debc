/** The operator of a cluster, who is identified by a certificate and decides approvals. */
import { createHash, X509Certificate } from "node:crypto";
import { issueAgentCertificate, makeAgentCa } from "../../../src/identity/certificate-authority.ts";
import type { Certified } from "./caller.ts";

/** An operator whose public key the nodes know. */
export interface Operator {
  /** The CA of client certificates, in PEM. */
  readonly ca: string;
  /** SHA-256 of the public key, in hex. */
  readonly fingerprint: string;
  readonly connection: Certified;
}

/** Creates a CA, and the operator's certificate signed by it. */
export async function makeOperator(agentId: string): Promise<Operator> {
  const ca = await makeAgentCa({ name: "Torture", days: 2 });
  if ("fault" in ca) throw new Error(String(ca.fault));
  const issued = issueAgentCertificate({
    ...{ agentId, name: "operator", organization: "Torture", days: 2 },
    ...{ caCert: ca.certificate, caKey: ca.key ?? "" },
  });
  if ("fault" in issued) throw new Error(String(issued.fault));
  const spki = new X509Certificate(issued.certificate).publicKey.export({
    ...{ type: "spki", format: "der" },
  });
  return {
    ca: ca.certificate,
    fingerprint: createHash("sha256").update(spki).digest("hex"),
    connection: { agentId, cert: issued.certificate, key: issued.key ?? "" },
  };
}
