/**
 * The intermediate certificates of clients, shared by the workers: each resumes TLS sessions that began at another, of
 * which TLS has only the client's own certificate.   `[tls] client_auth`
 */
import type { Link } from "../../base/link.ts";
import { Intermediates } from "../../server/peer-certificate.ts";

const MAX_REMEMBERED = 256;

/** Opens a worker's certificates, which begin with `known`, and keeps them in step with those of the others. */
export function shareIntermediates(link: Link, known: readonly string[]): Intermediates {
  const shared = new Intermediates((der) => link.tell("intermediate", der.toString("base64")));
  const add = (der: string): void => shared.add(Buffer.from(der, "base64"));
  for (const der of known) add(der);
  link.serve({ intermediate: add });
  return shared;
}

/** The certificates that a parent passes on among its workers, each as DER in base64. */
export class PassedIntermediates {
  readonly #known = new Set<string>();

  /** The most recent ones, for a worker that begins. */
  get list(): readonly string[] {
    return [...this.#known];
  }

  /** Passes one on to the other workers. */
  pass(der: string, others: Iterable<Link>): void {
    this.#known.delete(der);
    this.#known.add(der);
    for (const oldest of this.#known) {
      if (this.#known.size <= MAX_REMEMBERED) break;
      this.#known.delete(oldest);
    }
    for (const link of others) link.tell("intermediate", der);
  }
}
