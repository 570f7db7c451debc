/**
 * A signature that says that a manifest was authorized: over the text of its digest, `sha256:…`, and
 * nothing else, so that any tool that signs a text can make one. Either plain, in base64, by the key
 * that the profile holds, or OpenSSH's, by a key that its list of allowed signers has.
 * agentcli execution identity "detached-signature"
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
/** A namespace keeps a signature that was made for something else from counting here. */
const NAMESPACE = "agentcli";
const BASE64 = /^[A-Za-z0-9+/_-]{16,4096}={0,2}$/;

/** The text that a signature is over, and where files are. */
interface DetachedContext {
  /** `sha256:…` of the manifest. */
  readonly digest: string;
  readonly world: Pick<World, "directory">;
}

/** The settings that the profile lacks. */
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

/** Why the proof does not hold; undefined when it does. */
export function verifyDetachedProof(
  value: string,
  proof: EffectiveProof,
  context: DetachedContext,
): string | undefined {
  return proof.public_key === null
    ? verifyBySigners(value, proof, context)
    : verifyByKey(value, proof.public_key, context);
}

/** The kinds of keys that signatures are made with; of others the platform throws. */
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
  // ECDSA has two forms on the way: what OpenSSL writes, and what JOSE does.
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
  // A digest that was written by a shell's echo ends with a line feed.
  const isGood = [digest, `${digest}\n`].some((one) => verifySshSignature(signature, one));
  return isGood ? undefined : "the signature is not one over the digest of this manifest";
}

/** OpenSSH's detached signature by an Ed25519 key, taken apart.   PROTOCOL.sshsig, ssh-keygen(1) */
interface SshSignature {
  /** The key in the form of the wire, which lists of signers have as well. */
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

/** Reads an armoured signature, or says in words why it cannot be one. */
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

/** Tells whether a list of allowed signers has a key for a principal and a namespace. */
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
    // Whom a line excludes it names as well.
    if (key !== wanted || named.includes(`!${principal}`)) return false;
    return named.includes(principal) && allowsNamespace(options, namespace);
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
