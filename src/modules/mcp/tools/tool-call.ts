/** One call of a tool, as the library read it. */
import type { JsonRecord } from "../../../base/json-value.ts";

/** Tells a client how far its call is. */
export type TellProgress = (
  done: number,
  total: number | undefined,
  message: string | undefined,
) => void;

/** A call, and what its client can do. */
export interface ToolCall {
  readonly name: string;
  readonly arguments: JsonRecord;
  readonly meta: unknown;
  /** Calls back if its client leaves, or cancels it. */
  onLeave(listener: () => void): void;
  /** True for a client of 2026-07-28. */
  readonly isCurrent: boolean;
  readonly knowsTasks: boolean;
  /** True if its client can ask its user. */
  readonly canElicit: boolean;
  /** The state that its client brings back, and the answers of its user. */
  readonly requestState: string | undefined;
  readonly inputResponses: JsonRecord | undefined;
  /** Tells its client how far it is; undefined: the client does not want to know. */
  progress?: TellProgress | undefined;
}
