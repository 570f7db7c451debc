/**
 * Keeps which certificates were revoked before they expired: by serial number, each for the agent
 * that it speaks for. Kept in the store; looked at before every request. AGTP-CERT "Revocation"
 */

import type { ClientCertificate } from "../../identity/client-certificate.ts";
import { Collection } from "../collection.ts";
import { recordReader } from "../records/stored-record.ts";
import type { Store } from "../store.ts";

/** A certificate that an agent showed when work was begun for it, as it is kept with that. */
export interface ShownCertificate extends Pick<ClientCertificate, "serialNumber"> {
  readonly agentId: string;
}

interface Revocation {
  /** Normalized by `normalizeSerial`. */
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

/** Nobody but an operator revokes more of one agent: certificates are good for ninety days at most. */
const MOST = 1_000;

const SERIAL = /^[0-9a-f]{1,40}$/;

/** Lower-case hex without colons and leading zeros; undefined for what is no serial number. */
export function normalizeSerial(text: string): string | undefined {
  const digits = text.replace(/^0x/i, "").replaceAll(":", "").toLowerCase();
  if (!SERIAL.test(digits)) return undefined;
  return digits.replace(/^0+(?=.)/, "");
}

export class CertificateRegister {
  readonly #revoked: Collection<StoredRevocation>;
  /** The certificates that nobody gets in with, though they could not be stored yet. */
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

  /** Tells whether a certificate is revoked for the agent that it speaks for. */
  isRevoked({ serialNumber }: Pick<ClientCertificate, "serialNumber">, agentId: string): boolean {
    if (this.#revoked.size + this.#announced.size === 0) return false;
    const key = keyOf(agentId, serialNumber);
    return this.#announced.has(key) || this.#revoked.get(key) !== undefined;
  }

  /** Tells whether one more of an agent is taken from its issuer; it is in any case where it holds already. */
  hasRoom({ serial, agentId }: Pick<Revocation, "serial" | "agentId">): boolean {
    const announced = [...this.#announced].filter((key) => agentOf(key) === agentId);
    const isKnown = this.#revoked.get(keyOf(agentId, serial)) !== undefined;
    return isKnown || this.#revoked.ofOwner(agentId).length + announced.length < MOST;
  }

  /** Revokes, from the next request on; resolves once it survives the process. */
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
