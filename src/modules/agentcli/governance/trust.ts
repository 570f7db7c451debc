/**
 * Judges if an identity is trusted as far as a contract asks.   agentcli spec "Trust enforcement"
 */
import type { MergedContract } from "../compile/merge-governance.ts";
import { compareTrust, type TrustLevel } from "../manifest/identity-fields.ts";

/** The verdict, in words where there is something to say. */
type TrustVerdict =
  | { readonly kind: "enough" }
  | { readonly kind: "warning"; readonly message: string }
  | { readonly kind: "insufficient"; readonly message: string };

/** Judges a level by the contract; without enforcement, anything is enough. */
export function judgeTrust(contract: MergedContract, level: TrustLevel): TrustVerdict {
  const required = contract.required_trust_level;
  const enforcement = contract.trust_enforcement ?? "none";
  if (required === null || enforcement === "none" || compareTrust(level, required) >= 0) {
    return { kind: "enough" };
  }
  const message = `Trust level "${level}" is below required "${required}"`;
  return enforcement === "strict"
    ? { kind: "insufficient", message }
    : { kind: "warning", message: `${message} (advisory)` };
}
