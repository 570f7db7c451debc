/**
 * The refusal of an agentcli method: a value with a closed code, its category and machine-readable details. Only faults
 * of this program are thrown.   agentcli protocol "Error Model"
 */
import { given } from "../../base/json-value.ts";
import type { Validation } from "./manifest/finding.ts";

/** The closed set of categories that clients may branch on. */
const ERROR_TYPES = [
  "validation_error",
  "unknown_command",
  "invalid_argument",
  "parse_error",
  "internal_error",
] as const;
type ErrorType = (typeof ERROR_TYPES)[number];

/** Detailed codes, each in one category. */
export type FailureCode =
  | ErrorType
  | "scheduler_error"
  | "unsupported_capability"
  | "identity_resolution_failed"
  | "identity_delegation_invalid"
  | "unknown_identity_provider"
  | "token_not_found"
  | "token_file_not_found"
  | "token_file_empty"
  | "presentation_source_forbidden"
  | "presentation_binding_missing"
  | "presentation_target_invalid"
  | "presentation_stdin_conflict"
  | "authorization_proof_failed"
  | "unknown_verifier"
  | "authorization_error"
  | "unknown_authorization_provider"
  | "evidence_failed"
  | "trust_level_insufficient";

/** A method's failure. */
export interface Failure {
  readonly kind: "failure";
  readonly code: FailureCode;
  readonly message: string;
  readonly details?: unknown;
  /** The findings that make a manifest invalid. */
  readonly validation?: Validation;
}

/** Creates a failure. */
export function failure(
  code: FailureCode,
  message: string,
  more: Pick<Failure, "details" | "validation"> = {},
): Failure {
  return { kind: "failure", code, message, ...more };
}

/** Fails with an argument that the caller can correct. */
export function invalidArgument(message: string): Failure {
  return failure("invalid_argument", message);
}

/** Fails with a manifest that violates its own rules or its target's. */
export function invalidManifest(validation: Validation): Failure {
  return failure("validation_error", "Manifest validation failed", { validation });
}

/** Tells whether an outcome is a failure. */
export function isFailure(outcome: unknown): outcome is Failure {
  return (
    typeof outcome === "object" &&
    outcome !== null &&
    "kind" in outcome &&
    outcome.kind === "failure"
  );
}

/** The category of a code. */
export function errorTypeOf(code: FailureCode): ErrorType {
  if (code === "unsupported_capability") return "invalid_argument";
  if (code === "scheduler_error") return "internal_error";
  return ERROR_TYPES.find((type) => type === code) ?? "validation_error";
}

/** The `data` of an error. */
export function failureData({ code, details, validation }: Failure): Record<string, unknown> {
  return {
    code,
    error_type: errorTypeOf(code),
    ...given({ details, validation }),
  };
}
