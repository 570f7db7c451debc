/** The closed vocabulary of refusals: every `error.code` that the protocol itself answers with. */
import type { WireFaultCode } from "../wire/message.ts";

/** Every `error.code` of the protocol; a test keeps docs/reference/statuses.md equal to it. */
export type RefusalCode =
  | WireFaultCode
  | "invalid-canonical-id"
  | "invalid-identifier"
  | "invalid-authority-scope"
  | "invalid-body"
  | "invalid-query"
  | "unsupported-content-type"
  | "discover-target-conflict"
  | "contract-mismatch"
  | "missing-synthesis-id"
  | "missing-attempt-id"
  | "missing-target-id"
  | "invalid-sweep-mode"
  | "ambiguous-body"
  | "invalid-proposal"
  | "malformed-schema"
  | "unknown-negotiation"
  | "proposal-not-found"
  | "rate-limited"
  | "contract-forbidden"
  | "operator-scope-required"
  | UnauthenticatedCode
  | "agent-suspended"
  | "agent-retired"
  | "zone-violation"
  | "lifecycle-forbidden"
  | "lifecycle-conflict"
  | "lifecycle-invalid"
  | "task-paused"
  | "session-suspended"
  | "session-expired"
  | "session-ended"
  | "nonce-reused"
  | "confirmation-forbidden"
  | "decision-conflict"
  | "idempotency-key-reuse"
  | "idempotency-key-in-use"
  | "idempotency-outcome-unknown"
  | "idempotency-response-not-kept"
  | "missing-agent-id"
  | "missing-audit-id"
  | "invalid-audit-id"
  | "inspect-forbidden"
  | "delegation-forbidden"
  | "delegation-failed"
  | "authority-chain-broken"
  | "record-not-found"
  | "agent-not-found"
  | "agent_not_found"
  | "run_not_found"
  | "recipient-not-found"
  | "attribution-unavailable"
  | "store-unavailable"
  | "outcome-unknown"
  | "credentials-missing"
  | "anonymous-discovery-disabled"
  | "scope-claim-invalid"
  | "scope-required"
  | "endpoint-not-found"
  | "action-not-found"
  | "genesis-not-found"
  | "contract-not-found"
  | "method-not-allowed"
  | "schema-validation-failed"
  | "source-refused"
  | "source-unreadable"
  | "no-plan"
  | "scope-violation"
  | "method-not-in-catalog"
  | "path-grammar-violation"
  | RejectionReason
  | NoContractReason
  | "internal-error"
  | "handler-timeout"
  | "not-implemented";

/** Why a caller is not who it says, or has not shown that it is. */
export type UnauthenticatedCode =
  | "agent-unauthenticated"
  | "certificate-invalid"
  | "certificate-mismatch"
  | "certificate-required"
  | "certificate-revoked"
  | "session-mismatch"
  | "oauth-required"
  | "oauth-invalid"
  | "acl-anonymous-blocked"
  | "genesis-issuer-cert-required";

/** Why a proposal is rejected.   AGTP-API §10.6 */
export type RejectionReason = "synthesis-disabled" | "composition-impossible" | "policy-refused";

/** Why there is no contract.   AGTP-API §10.1.2, §10.1.4 */
export type NoContractReason =
  | "rcns-disabled"
  | "trust-tier-insufficient"
  | "composition-impossible"
  | "synthesis-error"
  | "contract-not-yours"
  | "contract-revoked";
