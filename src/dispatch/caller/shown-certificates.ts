/**
 * The certificates that a request's authority rests on. Work that continues after the answer keeps
 * them, and stops acting in anybody's name once one of them is revoked.   AGTP-CERT "Revocation"
 */
import type {
  CertificateRegister,
  ShownCertificate,
} from "../../state/registers/certificate-register.ts";
import type { QueryCaller } from "../module/query-source.ts";

/** Returns the caller's certificate, and those of this server's agents that delegated its task. */
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

/** Tells whether one of the certificates was revoked; earlier versions stored none. */
export function isOneRevoked(
  shown: readonly ShownCertificate[] | undefined = [],
  certificates: Pick<CertificateRegister, "isRevoked">,
): boolean {
  return shown.some((one) => certificates.isRevoked(one, one.agentId));
}
