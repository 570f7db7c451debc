/**
 * Which certificates were revoked before they expired: by serial number, each for the agent that it
 * speaks for. Kept in the store; looked at before every request.
 * AGTP-CERT "Revocation"
 */
import { isRecord } from "../json-value.ts";
import type { Store } from "../store/store.ts";
import type { ClientCertificate } from "./client-certificate.ts";

/** A revocation, as it was announced. */
export interface Revocation {
  /** Normalized by `normalizeSerial`. */
  readonly serial: string;
  readonly agentId: string;
  readonly reason: string;
  /** RFC 3339. */
  readonly revokedAt: string;
}

const COLLECTION = "revoked-certificates";
const SERIAL = /^[0-9a-f]{1,40}$/;

/** Lower-case hex without colons and leading zeros; undefined for what is no serial number. */
export function normalizeSerial(text: string): string | undefined {
  const digits = text.replace(/^0x/i, "").replaceAll(":", "").toLowerCase();
  if (!SERIAL.test(digits)) return undefined;
  return digits.replace(/^0+(?=.)/, "");
}

export class CertificateRegister {
  readonly #store: Store;
  readonly #revoked: Set<string>;
  /** Those that survive the process. */
  readonly #stored: Set<string>;

  private constructor(store: Store, stored: Iterable<string>) {
    this.#store = store;
    this.#revoked = new Set(stored);
    this.#stored = new Set(stored);
  }

  /** Opens the register of a store. */
  static async open(store: Store): Promise<CertificateRegister> {
    const entries = await store.list(COLLECTION);
    const stored = entries.filter(({ value }) => isRecord(value)).map(({ key }) => key);
    return new CertificateRegister(store, stored);
  }

  /** Whether a certificate is revoked for the agent that it speaks for. */
  isRevoked({ serialNumber }: ClientCertificate, agentId: string): boolean {
    return this.#revoked.size > 0 && this.#revoked.has(keyOf(agentId, serialNumber));
  }

  /** Revokes, from the next request on; resolves once it survives the process. */
  async revoke(revocation: Revocation): Promise<void> {
    const { serial, agentId, reason, revokedAt } = revocation;
    const key = keyOf(agentId, serial);
    if (this.#stored.has(key)) return;
    // Before it is stored: nobody is to get in while the disk is slow.
    this.#revoked.add(key);
    const value = { reason, revoked_at: revokedAt };
    await this.#store.commit([{ kind: "put", collection: COLLECTION, key, value }]);
    this.#stored.add(key);
  }
}

function keyOf(agentId: string, serial: string): string {
  return `${agentId}/${serial}`;
}
