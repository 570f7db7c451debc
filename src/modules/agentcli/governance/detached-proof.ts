/**
 * A signature that says that a manifest was authorized: over the text of its digest, `sha256:…`, and
 * nothing else, so that any tool that signs a text can make one. Either plain, in base64, by the key
 * that the profile holds, or OpenSSH's, by a key that its list of allowed signers has.
 * agentcli execution identity "detached-signature"
 */
import { verify } from "node:crypto";
import { resolve } from "node:path";
import { readBoundedFile } from "../../../base/bounded-file.ts";
import type { JsonRecord } from "../../../base/json-value.ts";
import type { EffectiveProof } from "../compile/merge-governance.ts";
import type { ProfileFault } from "../manifest/profile-fault.ts";
import type { World } from "../world.ts";
import { checkPublicKey, readPublicPem } from "./key-source.ts";
import { isAllowedSigner, readSshSignature, verifySshSignature } from "./ssh-signature.ts";

const MAX_SIGNERS_BYTES = 262_144;
/** A namespace keeps a signature that was made for something else from counting here. */
const NAMESPACE = "agentcli";
const BASE64 = /^[A-Za-z0-9+/_-]{16,4096}={0,2}$/;

/** The text that a signature is over, and where files are. */
export interface DetachedContext {
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
  return [
    ...(hasKey === hasSigners
      ? ([["public_key", "exactly one of public_key and allowed_signers is required"]] as const)
      : []),
    ...(hasKey ? checkPublicKey(key, "public_key") : []),
    ...(needsPrincipal ? ([["principal", "is required beside allowed_signers"]] as const) : []),
  ];
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

function verifyByKey(value: string, pem: string, { digest }: DetachedContext): string | undefined {
  const key = readPublicPem(pem);
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
