/**
 * The certificates that the authority of a request rests on. What goes on behind its answer keeps them, and does
 * nothing more in anybody's name once one of them was revoked.   AGTP-CERT "Revocation"
 */
import type {
  CertificateRegister,
  ShownCertificate,
} from "../../state/registers/certificate-register.ts";
import type { QueryCaller } from "../module/query-source.ts";

/** The caller's own, and those of the agents of this server that handed its task on. */
export function shownCertificates({
  caller: { agentId, delegation },
  peer: { certificate },
}: QueryCaller): readonly ShownCertificate[] {
  const links = delegation?.links ?? [];
  const all = agentId === undefined ? links : [...links, { agentId, certificate }];
  return all.flatMap(({ agentId: shownBy, certificate: shown }) =>
    shown === undefined ? [] : [{ agentId: shownBy, serialNumber: shown.serialNumber }],
  );
}

/** Tells whether one of them was revoked; earlier versions kept none. */
export function isOneRevoked(
  shown: readonly ShownCertificate[] | undefined = [],
  certificates: Pick<CertificateRegister, "isRevoked">,
): boolean {
  return shown.some((one) => certificates.isRevoked(one, one.agentId));
}
