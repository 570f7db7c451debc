/**
 * Stores the certificates revoked before their expiry, by serial number and by the agent they speak for. Checked
 * before every request.   AGTP-CERT "Revocation"
 */

import type { ClientCertificate } from "../../identity/client-certificate.ts";
import { Collection } from "../collection.ts";
import { recordReader } from "../records/stored-record.ts";
import type { Store } from "../store.ts";

/** The certificate that an agent showed when work was started for it, stored with that work. */
export interface ShownCertificate extends Pick<ClientCertificate, "serialNumber"> {
  readonly agentId: string;
}

interface Revocation {
  /** As returned by `normalizeSerial`. */
  readonly serial: string;
  readonly agentId: string;
  readonly reason: string;
  /** RFC 3339. */
  readonly revokedAt: string;
}

interface StoredRevocation {
  readonly reason: string;
  readonly revoked_at: string;
}

/**
 * The most revocations of one agent by its issuer, beside those by operators: certificates are valid for ninety days
 * at most.
 */
const MOST = 1_000;

const SERIAL = /^[0-9a-f]{1,40}$/;

/** Normalizes to lower-case hex without colons and leading zeros; undefined for an invalid serial number. */
export function normalizeSerial(text: string): string | undefined {
  const digits = text.replace(/^0x/i, "").replaceAll(":", "").toLowerCase();
  if (!SERIAL.test(digits)) return undefined;
  return digits.replace(/^0+(?=.)/, "");
}

export class CertificateRegister {
  readonly #revoked: Collection<StoredRevocation>;
  /** Certificates already rejected, though their revocation is not stored yet. */
  readonly #announced = new Set<string>();

  private constructor(revoked: Collection<StoredRevocation>) {
    this.#revoked = revoked;
  }

  static async open(store: Store): Promise<CertificateRegister> {
    const name = "revoked-certificates";
    const read = recordReader<StoredRevocation>({});
    const ownerOf = (_: StoredRevocation, key: string): string => agentOf(key);
    return new CertificateRegister(await Collection.open(store, { name, read, ownerOf }));
  }

  /** True if a certificate is revoked for its agent. */
  isRevoked({ serialNumber }: Pick<ClientCertificate, "serialNumber">, agentId: string): boolean {
    if (this.#revoked.size + this.#announced.size === 0) return false;
    const key = keyOf(agentId, serialNumber);
    return this.#announced.has(key) || this.#revoked.get(key) !== undefined;
  }

  /** True if the issuer may revoke another certificate of the agent, or has revoked this one already. */
  hasRoom({ serial, agentId }: Pick<Revocation, "serial" | "agentId">): boolean {
    const announced = [...this.#announced].filter((key) => agentOf(key) === agentId);
    const isKnown = this.#revoked.get(keyOf(agentId, serial)) !== undefined;
    return isKnown || this.#revoked.ofOwner(agentId).length + announced.length < MOST;
  }

  /** Revokes a certificate from the next request on; resolves once that is stored and known to every node. */
  async revoke({ serial, agentId, reason, revokedAt }: Revocation): Promise<void> {
    const key = keyOf(agentId, serial);
    this.#announced.add(key);
    await this.#revoked.add(key, { reason, revoked_at: revokedAt });
    this.#announced.delete(key);
    await this.#revoked.everywhere(key);
  }
}

function agentOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}

function keyOf(agentId: string, serial: string): string {
  return `${agentId}/${serial}`;
}
