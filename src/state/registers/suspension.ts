/**
 * A suspension: a session that is halted, and what it takes to go on with it. The nonce is shown
 * once, to the agent that suspended; what is kept is its hash.   AGTP "SUSPEND"
 */
import { hash, randomBytes } from "node:crypto";

/** Why a session is suspended.   AGTP "SUSPEND" */
export const SUSPENSION_REASONS: readonly string[] = [
  "awaiting_input",
  "resource_limit",
  "scheduled_pause",
  "external_dependency",
];

/** `expired`: nobody resumed it in time. `ended`: it was revoked. Neither comes back. */
export type SuspensionState = "suspended" | "resumed" | "expired" | "ended";

/** One suspension of one session; or the end of a session, which needed no suspension before. */
export interface Suspension {
  readonly suspensionId: string;
  readonly sessionId: string;
  /** The owner of the session. */
  readonly agentId: string;
  /** The certificate that it was used with; undefined: none. */
  readonly tlsIdentity?: string;
  readonly reason?: string;
  /** SHA-256 in hex; undefined where nothing can be resumed. */
  readonly nonceHash?: string;
  /** Milliseconds since the epoch. */
  readonly suspendedAt: number;
  readonly resumeBy: number;
  /** As last stored; `suspensionStateAt` says what it is now. */
  readonly state: SuspensionState;
}

/** The state of a suspension at a time. */
export function suspensionStateAt({ state, resumeBy }: Suspension, now: number): SuspensionState {
  return state === "suspended" && resumeBy <= now ? "expired" : state;
}

/** 256 bits that nobody guesses, in base64url. */
export function mintNonce(): string {
  return randomBytes(32).toString("base64url");
}

/** The record of a nonce. */
export function hashNonce(nonce: string): string {
  return hash("sha256", nonce);
}
