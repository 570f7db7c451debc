/**
 * Operators: who decides over agents, approvals and definitions. One is known by a certificate of
 * `operator_certificates`, or to a page of this server that signed the person in.
 */

import type { ClientCertificate } from "../../identity/client-certificate.ts";
import type { Operator } from "../../state/registers/operator.ts";
import type { IdentityConfig } from "../policy/policies-config.ts";
import type { Peer } from "./peer.ts";

/** The policy that operators are recognised by. */
export type OperatorPolicy = Pick<IdentityConfig, "operatorCertificates">;

/** The operator at the other end, as records name it; undefined: nobody who is one. */
export function operatorOf(
  { certificate, operator }: Pick<Peer, "certificate" | "operator">,
  policy: OperatorPolicy,
): Operator | undefined {
  if (operator !== undefined) return operator;
  if (certificate === undefined || !isListed(certificate, policy)) return undefined;
  return { id: certificate.fingerprint, via: "certificate" };
}

function isListed(
  { keyFingerprint, spkiFingerprint }: ClientCertificate,
  { operatorCertificates }: OperatorPolicy,
): boolean {
  return operatorCertificates.some((written) => {
    const fingerprint = written.replaceAll(":", "").toLowerCase();
    return fingerprint === keyFingerprint || fingerprint === spkiFingerprint;
  });
}
