/**
 * A suspension: a halted session, and the conditions for resuming it. The nonce is shown once, to the suspending
 * agent; only its hash is stored.   AGTP "SUSPEND"
 */
import { hash, randomBytes } from "node:crypto";

/** Why a session is suspended.   AGTP "SUSPEND" */
export const SUSPENSION_REASONS: readonly string[] = [
  "awaiting_input",
  "resource_limit",
  "scheduled_pause",
  "external_dependency",
];

/** `expired`: not resumed in time. `ended`: revoked. Both are final. */
export type SuspensionState = "suspended" | "resumed" | "expired" | "ended";

/** A suspension of a session, or the end of a session, suspended or not. */
export interface Suspension {
  readonly suspensionId: string;
  readonly sessionId: string;
  /** The owner of the session. */
  readonly agentId: string;
  /** The certificate that the session was used with; undefined: none. */
  readonly tlsIdentity?: string;
  readonly reason?: string;
  /** SHA-256 in hex; undefined if it cannot be resumed. */
  readonly nonceHash?: string;
  /** Milliseconds since the epoch. */
  readonly suspendedAt: number;
  readonly resumeBy: number;
  /** The stored state; `suspensionStateAt` returns the current one. */
  readonly state: SuspensionState;
}

/** Returns the state of a suspension at a time. */
export function suspensionStateAt({ state, resumeBy }: Suspension, now: number): SuspensionState {
  return state === "suspended" && resumeBy <= now ? "expired" : state;
}

/** Returns 256 random bits in base64url. */
export function mintNonce(): string {
  return randomBytes(32).toString("base64url");
}

/** Returns the stored form of a nonce. */
export function hashNonce(nonce: string): string {
  return hash("sha256", nonce);
}
