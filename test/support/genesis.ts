/**
 * Keys from seeds, and Genesis and identity documents signed with them by other code than what is
 * tested: the canonical form here is a sort and JSON.stringify.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import fc from "fast-check";
import { type Ed25519PublicKey, publicKeyOf } from "../../src/identity/ed25519.ts";

/** A JSON object that a test changes as it likes. */
export type Members = Readonly<Record<string, unknown>>;

/** An Ed25519 key pair. */
export interface TestKey {
  readonly privateKey: KeyObject;
  readonly publicKey: Ed25519PublicKey;
  /** base64url of the raw octets. */
  readonly text: string;
  readonly pem: string;
}

const PKCS8 = "302e020100300506032b657004220420";

/** The key whose 32 secret octets are all the same. */
export function keyOf(seed: number): TestKey {
  const der = Buffer.concat([Buffer.from(PKCS8, "hex"), Buffer.alloc(32, seed)]);
  const privateKey = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const publicKey = publicKeyOf(privateKey)!;
  const pem = String(createPublicKey(privateKey).export({ format: "pem", type: "spki" }));
  return { privateKey, publicKey, text: publicKey.text, pem };
}

/** The issuer of every document here that names no other. */
export const ISSUER: TestKey = keyOf(1);
export const STRANGER: TestKey = keyOf(2);
export const AGENT: TestKey = keyOf(3);

/** What a Genesis of the drafts says before it is signed. */
export const DRAFT: Members = {
  owner: "acme.example",
  archetype: "assistant",
  governance_zone: "zone:eu-west",
  scope: ["booking:room"],
  issued_at: "2026-05-01T09:00:00Z",
  issuer_public_key: ISSUER.text,
  trust_tier: 1,
  verification_path: "dns-anchored",
};

/** What a Genesis in the reference's style says before it is signed. */
export const REFERENCE: Members = {
  agtp_genesis_version: "agtp-genesis/1",
  name: "lauren",
  owner_id: "acme.example",
  principal_id: "acme.example",
  agent_public_key: AGENT.pem,
  trust_tier: 2,
  verification_path: "org-asserted",
  issued_at: "2026-05-01T09:00:00Z",
  issuer: "https://acme.example",
  issuer_public_key: ISSUER.pem,
};

/** An identity document without an Agent-ID and without a signature. */
export const DOCUMENT: Members = {
  agtp_version: "1.0",
  name: "lauren",
  description: "Answers guests at the front desk.",
  principal: "Harbour Hotel",
  principal_id: "harbour-hotel.example",
  issuer: "https://harbour-hotel.example",
  issued_at: "2026-05-01T09:00:00Z",
  status: "active",
  scopes_accepted: ["booking:room", "documents:*"],
};

/** RFC 8785 for documents without numbers that JSON.stringify writes in another way. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`);
  return `{${members.join(",")}}`;
}

/** The Agent-ID of a Genesis, signed or not. */
export function agentIdOf(genesis: Members): string {
  return createHash("sha256").update(covered(genesis)).digest("hex");
}

/** A Genesis with its Agent-ID and its signature. */
export function signGenesis(unsigned: Members, key: TestKey = ISSUER): Members {
  const octets = Buffer.from(covered(unsigned));
  const signature = sign(null, octets, key.privateKey).toString("base64url");
  return { agent_id: agentIdOf(unsigned), ...unsigned, signature };
}

/** An identity document with the signature of an issuer. */
export function signIdentity(unsigned: Members, key: TestKey = ISSUER): Members {
  const claimed = {
    ...unsigned,
    manifest_issuer: "https://issuer.example",
    manifest_issuer_public_key: key.text,
  };
  const octets = Buffer.from(canonical(claimed));
  const signature = sign(null, octets, key.privateKey).toString("base64url");
  return { ...claimed, manifest_signature: signature };
}

/** A document without one of its members. */
export function without(document: Members, ...names: readonly string[]): Members {
  return Object.fromEntries(Object.entries(document).filter(([name]) => !names.includes(name)));
}

/** The same members in any order. */
export function reordered(document: Members): fc.Arbitrary<Members> {
  const entries = Object.entries(document);
  return fc.shuffledSubarray(entries, { minLength: entries.length }).map(Object.fromEntries);
}

function covered(genesis: Members): string {
  return canonical(without(genesis, "signature", "agent_id", "log_inclusion_proof"));
}
