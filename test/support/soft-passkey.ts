/** A passkey in software, which signs whatever a test wants to have signed.   Web Authentication §6 */
import { createHash, createSign, generateKeyPairSync, randomBytes } from "node:crypto";

/** Options of the console, as far as a browser reads them. */
export interface CeremonyOptions {
  readonly challenge: string;
}

/** What a browser or an authenticator may say wrongly. */
export interface Lies {
  readonly origin?: string;
  readonly rpId?: string;
  readonly type?: string;
  readonly challenge?: string;
  readonly counter?: number;
  readonly flags?: number;
  /** The credential's id. */
  readonly id?: string;
}

/** One passkey. */
export interface SoftPasskey {
  readonly id: string;
  /** Its public key, as records have it. */
  readonly jwk: Readonly<Record<string, unknown>>;
  register(options: CeremonyOptions, lies?: Lies): object;
  sign(options: CeremonyOptions, lies?: Lies): object;
}

const USER_PRESENT = 0x01;
const HAS_CREDENTIAL = 0x40;

/** Makes one for the console at an origin; it counts its signatures. */
export function makeSoftPasskey(origin: string): SoftPasskey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const rawId = randomBytes(16);
  const id = rawId.toString("base64url");
  let count = 0;
  const clientDataOf = (type: string, { challenge }: CeremonyOptions, lies: Lies): Buffer =>
    Buffer.from(
      JSON.stringify({
        type: lies.type ?? type,
        challenge: lies.challenge ?? challenge,
        origin: lies.origin ?? origin,
        crossOrigin: false,
      }),
    );
  const headOf = (flags: number, { rpId, counter = count, flags: forged }: Lies): Buffer => {
    const head = Buffer.alloc(37);
    createHash("sha256")
      .update(rpId ?? new URL(origin).hostname)
      .digest()
      .copy(head);
    head[32] = forged ?? flags;
    head.writeUInt32BE(counter, 33);
    return head;
  };
  return {
    id,
    jwk: { ...publicKey.export({ format: "jwk" }), alg: "ES256" },
    register(options, lies = {}) {
      const cose = Buffer.concat([
        Buffer.from("a5010203262001215820", "hex"),
        Buffer.from(x, "base64url"),
        Buffer.from("225820", "hex"),
        Buffer.from(y, "base64url"),
      ]);
      const length = Buffer.from([0, rawId.length]);
      const head = headOf(USER_PRESENT | HAS_CREDENTIAL, lies);
      const data = Buffer.concat([head, Buffer.alloc(16), length, rawId, cose]);
      const attestation = Buffer.concat([
        Buffer.from("a363666d74646e6f6e656761747453746d74a068617574684461746158", "hex"),
        Buffer.from([data.length]),
        data,
      ]);
      const response = {
        clientDataJSON: clientDataOf("webauthn.create", options, lies).toString("base64url"),
        attestationObject: attestation.toString("base64url"),
        transports: ["internal"],
      };
      return { id, rawId: id, type: "public-key", clientExtensionResults: {}, response };
    },
    sign(options, lies = {}) {
      count += 1;
      const clientData = clientDataOf("webauthn.get", options, lies);
      const data = headOf(USER_PRESENT, lies);
      const hash = createHash("sha256").update(clientData).digest();
      const signature = createSign("sha256").update(data).update(hash).sign(privateKey);
      const named = lies.id ?? id;
      const response = {
        clientDataJSON: clientData.toString("base64url"),
        authenticatorData: data.toString("base64url"),
        signature: signature.toString("base64url"),
      };
      return { id: named, rawId: named, type: "public-key", clientExtensionResults: {}, response };
    },
  };
}
