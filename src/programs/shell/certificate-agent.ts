/** The Agent-ID that an Agent Certificate is for.   AGTP-CERT "Agent Certificate Profile" */
import { X509Certificate } from "node:crypto";
import { readAgentExtensions } from "../../identity/certificate-agent-extensions.ts";
import { describeCertificate } from "../../identity/certificate-roles.ts";

/** Reads the first certificate of a PEM text; undefined for any other certificate, and for no certificate. */
export function certificateAgent(pem: string): string | undefined {
  try {
    const fields = describeCertificate(new X509Certificate(pem));
    if ("fault" in fields) return undefined;
    const agent = readAgentExtensions(fields.extensions);
    return agent === undefined || "fault" in agent ? undefined : agent.agentId;
  } catch {
    // TLS says what is wrong with it.
    return undefined;
  }
}
