/**
 * An Agent Genesis: the birth record that an Agent-ID is the hash of, signed by whoever issued it.
 * The hash and the signature are over the same octets: the canonical form of the document without
 * what can only be known afterwards.   AGTP "Agent Genesis", AGTP-API §5.8.1
 */
import type { JsonRecord } from "../base/json-value.ts";
import { canonicalForm } from "./canonical-form.ts";
import type { Ed25519PublicKey } from "./ed25519.ts";

/** A Genesis whose hash and signature were verified. */
export interface Genesis {
  /** Derived from the document: 64 lower-case hex characters. */
  readonly agentId: string;
  readonly issuerKey: Ed25519PublicKey;
  /** The key that the agent itself holds. */
  readonly agentKey: Ed25519PublicKey | undefined;
  /** Undefined when the owner that the document names cannot be an Owner-ID. */
  readonly ownerId: string | undefined;
  /** True if the issuer is one of those that the operator trusts. */
  readonly isTrusted: boolean;
  /** The canonical form of the whole document, signature included: what DISCOVER /genesis sends. */
  readonly canonical: Uint8Array;
  /** The document as loaded. */
  readonly document: JsonRecord;
  /** The declaring file, relative to the deployment directory. */
  readonly file: string;
}

/** The kinds of agents. */
export const ARCHETYPES = ["assistant", "analyst", "executor", "orchestrator", "monitor"] as const;

/** One of the kinds of agent. */
export type Archetype = (typeof ARCHETYPES)[number];

/** Members that neither hash nor signature can cover: they are made from both. */
const MADE_AFTERWARDS = ["signature", "agent_id", "log_inclusion_proof"] as const;

/** The octets that the signature is over, and that the Agent-ID is the hash of. */
export function signedOctets(genesis: JsonRecord): Buffer {
  return canonicalForm(genesis, MADE_AFTERWARDS);
}
