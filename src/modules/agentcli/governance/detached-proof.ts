/**
 * A detached signature that authorizes a manifest. It covers only the text of the digest, `sha256:…`, so that any
 * signing tool can create it: either plain base64 by the profile's key, or in OpenSSH format by a key among its allowed
 * signers.   agentcli execution identity "detached-signature"
 */
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { resolve } from "node:path";
import { readBoundedFile } from "../../../base/bounded-file.ts";
import type { JsonRecord } from "../../../base/json-value.ts";
import type { EffectiveProof } from "../compile/merge.ts";
import type { ProfileFault } from "../manifest/finding.ts";
import type { World } from "../world.ts";
import { checkPublicKey, readPublicPem } from "./keys.ts";

const MAX_SIGNERS_BYTES = 262_144;
/** The SSH namespace; a signature made for another purpose does not verify. */
const NAMESPACE = "agentcli";
const BASE64 = /^[A-Za-z0-9+/_-]{16,4096}={0,2}$/;

/** The signed digest, and the directory of files. */
interface DetachedContext {
  /** `sha256:…` of the manifest. */
  readonly digest: string;
  readonly world: Pick<World, "directory">;
}

/** Reports missing or invalid settings. */
export function checkDetachedProfile(profile: JsonRecord): readonly ProfileFault[] {
  const { public_key: key, allowed_signers: signers, principal } = profile;
  const hasKey = typeof key === "string" && key !== "";
  const hasSigners = typeof signers === "string" && signers !== "";
  const needsPrincipal = hasSigners && (typeof principal !== "string" || principal === "");
  const faults: ProfileFault[] = hasKey ? [...checkPublicKey(key, "public_key")] : [];
  if (hasKey && faults.length === 0 && readVerifyingKey(key) === undefined) {
    faults.push(["public_key", "must be an Ed25519, RSA or EC key"]);
  }
  if (needsPrincipal) faults.push(["principal", "is required beside allowed_signers"]);
  if (hasKey !== hasSigners) return faults;
  return [["public_key", "exactly one of public_key and allowed_signers is required"], ...faults];
}

/** Returns the reason that a proof is invalid; undefined if it is valid. */
export function verifyDetachedProof(
  value: string,
  proof: EffectiveProof,
  context: DetachedContext,
): string | undefined {
  return proof.public_key === null
    ? verifyBySigners(value, proof, context)
    : verifyByKey(value, proof.public_key, context);
}

/** The supported kinds of keys; the platform throws on others. */
const KEY_KINDS: readonly unknown[] = ["ed25519", "rsa", "rsa-pss", "ec"];

function readVerifyingKey(pem: string): KeyObject | undefined {
  const key = readPublicPem(pem);
  return KEY_KINDS.includes(key?.asymmetricKeyType) ? key : undefined;
}

function verifyByKey(value: string, pem: string, { digest }: DetachedContext): string | undefined {
  const key = readVerifyingKey(pem);
  if (key === undefined) return "its public key is none";
  const text = value.replace(/\s+/g, "");
  if (!BASE64.test(text)) return "the signature is not base64";
  const isEdwards = key.asymmetricKeyType === "ed25519";
  const signature = Buffer.from(text, "base64url");
  const octets = Buffer.from(digest);
  // ECDSA signatures have two encodings: OpenSSL's and JOSE's.
  const isGood =
    verify(isEdwards ? null : "sha256", octets, key, signature) ||
    (key.asymmetricKeyType === "ec" &&
      verify("sha256", octets, { key, dsaEncoding: "ieee-p1363" }, signature));
  return isGood ? undefined : "the signature is not one over the digest of this manifest";
}

function verifyBySigners(
  value: string,
  { allowed_signers: file, principal, namespace }: EffectiveProof,
  { digest, world }: DetachedContext,
): string | undefined {
  const signature = readSshSignature(value);
  if (typeof signature === "string") return signature;
  const { text, fault } = readBoundedFile(resolve(world.directory, file ?? ""), MAX_SIGNERS_BYTES);
  if (text === undefined) return `its list of allowed signers ${fault}`;
  const wanted = namespace ?? NAMESPACE;
  if (signature.namespace !== wanted) {
    return `the signature is for "${signature.namespace}", expected "${wanted}"`;
  }
  if (!isAllowedSigner(text, principal ?? "", signature.publicKey, wanted)) {
    return `its key is not one of the allowed signers for "${principal}"`;
  }
  // `echo` adds a line feed to the digest.
  const isGood = [digest, `${digest}\n`].some((one) => verifySshSignature(signature, one));
  return isGood ? undefined : "the signature is not one over the digest of this manifest";
}

/** A parsed OpenSSH signature by an Ed25519 key.   PROTOCOL.sshsig, ssh-keygen(1) */
interface SshSignature {
  /** The key in wire format, as in lists of allowed signers. */
  readonly publicKey: Buffer;
  readonly namespace: string;
  readonly hash: "sha256" | "sha512";
  readonly reserved: Buffer;
  readonly signature: Buffer;
}

const ARMOUR =
  /^-----BEGIN SSH SIGNATURE-----\s([A-Za-z0-9+/=\s]{1,16384})-----END SSH SIGNATURE-----$/;
const MAGIC = Buffer.from("SSHSIG");
const VERSION = 1;
const KEY_TYPE = "ssh-ed25519";
const KEY_OCTETS = 32;

/** Reads an armoured signature, or returns the fault. */
function readSshSignature(text: string): SshSignature | string {
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

function verifySshSignature(signed: SshSignature, text: string): boolean {
  const key = readKey(signed.publicKey);
  const [type, signature] = strings(signed.signature);
  if (key === undefined || signature === undefined || type?.toString() !== KEY_TYPE) return false;
  const { namespace, reserved, hash } = signed;
  const digest = createHash(hash).update(text).digest();
  const octets = [Buffer.from(namespace), reserved, Buffer.from(hash), digest].map(asString);
  return verify(null, Buffer.concat([MAGIC, ...octets]), key, signature);
}

/** Tells whether a list of allowed signers permits a key for a principal and a namespace. */
function isAllowedSigner(
  list: string,
  principal: string,
  publicKey: Buffer,
  namespace: string,
): boolean {
  const wanted = publicKey.toString("base64");
  return list.split(/\r?\n/).some((line) => {
    const [, names = "", options = "", key] =
      /^\s*([^\s#]\S*)\s+(?:(\S+)\s+)?ssh-ed25519\s+([A-Za-z0-9+/=]+)/.exec(line) ?? [];
    const named = names.split(",");
    // A negated principal excludes the whole line.
    if (key !== wanted || named.includes(`!${principal}`)) return false;
    return named.includes(principal) && allowsNamespace(options, namespace);
  });
}

/** Lines with options other than `namespaces` match nothing, as they cannot be judged here. */
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

/** Reads consecutive strings in SSH wire format, up to a truncated one. */
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
