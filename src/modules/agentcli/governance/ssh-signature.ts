/**
 * OpenSSH's detached signatures, as `ssh-keygen -Y sign` makes them with an Ed25519 key, and its lists
 * of allowed signers. Read here, so that verifying starts no program.   PROTOCOL.sshsig, ssh-keygen(1)
 */
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";

/** A signature, taken apart. */
export interface SshSignature {
  /** The key in the form of the wire, which lists of signers have as well. */
  readonly publicKey: Buffer;
  readonly namespace: string;
  readonly hash: "sha256" | "sha512";
  readonly reserved: Buffer;
  readonly signature: Buffer;
}

const ARMOUR =
  /^-----BEGIN SSH SIGNATURE-----\s+([A-Za-z0-9+/=\s]{1,16384})-----END SSH SIGNATURE-----\s*$/;
const MAGIC = Buffer.from("SSHSIG");
const VERSION = 1;
const KEY_TYPE = "ssh-ed25519";
const KEY_OCTETS = 32;

/** Reads an armoured signature, or says in words why it cannot be one. */
export function readSshSignature(text: string): SshSignature | string {
  const [, armoured] = ARMOUR.exec(text.trim()) ?? [];
  if (armoured === undefined) return "the proof is no SSH signature";
  const blob = Buffer.from(armoured, "base64");
  const fields = blob.subarray(MAGIC.length + 4);
  const isOne = blob.subarray(0, MAGIC.length).equals(MAGIC);
  if (!isOne || blob.length < MAGIC.length + 4 || blob.readUInt32BE(MAGIC.length) !== VERSION) {
    return "the proof is no SSH signature of version 1";
  }
  const [publicKey, namespace, reserved, hash, signature] = strings(fields);
  if (publicKey === undefined || namespace === undefined || reserved === undefined) return CUT;
  if (hash === undefined || signature === undefined) return CUT;
  const algorithm = hash.toString("latin1");
  if (algorithm !== "sha256" && algorithm !== "sha512") return "its hash is not sha256 or sha512";
  return { publicKey, namespace: namespace.toString(), hash: algorithm, reserved, signature };
}

const CUT = "the SSH signature is cut short";

/** Tells whether a signature is over a text. */
export function verifySshSignature(signed: SshSignature, text: string): boolean {
  const key = readKey(signed.publicKey);
  const [type, signature] = strings(signed.signature);
  if (key === undefined || signature === undefined || type?.toString() !== KEY_TYPE) return false;
  const { namespace, reserved, hash } = signed;
  const digest = createHash(hash).update(text).digest();
  const octets = [Buffer.from(namespace), reserved, Buffer.from(hash), digest].map(asString);
  return verify(null, Buffer.concat([MAGIC, ...octets]), key, signature);
}

/** Tells whether a list of allowed signers has a key for a principal and a namespace. */
export function isAllowedSigner(
  list: string,
  principal: string,
  publicKey: Buffer,
  namespace: string,
): boolean {
  const wanted = publicKey.toString("base64");
  return list.split(/\r?\n/).some((line) => {
    const [, names = "", options = "", key] =
      /^\s*([^\s#]\S*)\s+(?:(\S+)\s+)?ssh-ed25519\s+([A-Za-z0-9+/=]+)/.exec(line) ?? [];
    if (key !== wanted || !names.split(",").includes(principal)) return false;
    return allowsNamespace(options, namespace);
  });
}

/** Only the namespace can be judged here; a line with any other rule allows nothing. */
function allowsNamespace(options: string, namespace: string): boolean {
  if (options === "") return true;
  const [, names] = /^namespaces="([^"]*)"$/.exec(options) ?? [];
  return names?.split(",").includes(namespace) ?? false;
}

function readKey(blob: Buffer): KeyObject | undefined {
  const [type, raw] = strings(blob);
  if (type?.toString() !== KEY_TYPE || raw?.length !== KEY_OCTETS) return undefined;
  const jwk = { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") };
  return createPublicKey({ key: jwk, format: "jwk" });
}

/** Strings of the SSH wire, one behind the other; what is cut short ends them. */
function strings(octets: Buffer): readonly Buffer[] {
  const found: Buffer[] = [];
  let at = 0;
  while (at + 4 <= octets.length) {
    const end = at + 4 + octets.readUInt32BE(at);
    if (end > octets.length) break;
    found.push(octets.subarray(at + 4, end));
    at = end;
  }
  return found;
}

function asString(octets: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(octets.length);
  return Buffer.concat([length, octets]);
}
