/** The way to a peer: how a task is sent there, and every way in which no answer comes back. */
import type {
  DelegationFailure,
  WorkOutcome,
} from "../../dispatch/refusals/delegation-refusals.ts";
import type { PeerServer } from "./peers.ts";

/** The request that is sent: DELEGATE on "/". */
export interface PeerMessage {
  readonly agentId: string;
  readonly taskId: string | undefined;
  /** The approval that the request brings for what is done. */
  readonly escalationId: string | undefined;
  /** JSON; the peer's record has its hash. */
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** An answer as it was received, or why there is none. */
export type PeerAnswer =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly body: unknown;
      readonly text: string;
      readonly auditId: string | undefined;
      readonly record: string | undefined;
    }
  | {
      readonly kind: "unanswered";
      readonly reason: DelegationFailure;
      /** True if the peer may have begun all the same. */
      readonly outcome: WorkOutcome;
      readonly message: string;
    };

/** Sends to peers. */
export interface PeerCaller {
  /** Never rejects. */
  call(peer: PeerServer, message: PeerMessage): Promise<PeerAnswer>;
  /** Ends what is under way. */
  close(): Promise<void>;
}
