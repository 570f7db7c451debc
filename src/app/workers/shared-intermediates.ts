/**
 * The intermediate certificates of clients, shared by the workers: a TLS session that is resumed at another worker
 * has only the client's own certificate.   `[tls] client_auth`
 */
import type { Link } from "../../base/link.ts";
import { recentlyUsed } from "../../base/recently-used.ts";
import { Intermediates, MAX_INTERMEDIATES } from "../../server/peer-certificate.ts";

/** Returns a worker's certificates, initially `known`, and exchanges new ones with the other workers. */
export function shareIntermediates(link: Link, known: readonly string[]): Intermediates {
  const shared = new Intermediates((der) => link.tell("intermediate", der.toString("base64")));
  const add = (der: string): void => shared.add(Buffer.from(der, "base64"));
  for (const der of known) add(der);
  link.serve({ intermediate: add });
  return shared;
}

/** The certificates that a parent forwards between its workers, each as DER in base64. */
export class PassedIntermediates {
  readonly #known = recentlyUsed<true>(MAX_INTERMEDIATES);

  /** The most recent certificates, for a worker that starts. */
  get list(): readonly string[] {
    return [...this.#known.keys()];
  }

  /** Forwards a certificate to the other workers. */
  pass(der: string, others: Iterable<Link>): void {
    this.#known.set(der, true);
    for (const link of others) link.tell("intermediate", der);
  }
}
