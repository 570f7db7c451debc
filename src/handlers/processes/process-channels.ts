/** The `node:diagnostics_channel` channels for calls to processes, used by metrics. */
import { channel } from "node:diagnostics_channel";

/** Channel names; the comments name their messages' types. */
export const PROCESS_CHANNELS = {
  /** `ProcessCallEnd` */
  call: "agtpd:process:call",
  /** `ProcessRestart` */
  restart: "agtpd:process:restart",
} as const;

export interface ProcessCallEnd {
  readonly process: string;
  /** The time from the call to its end, waiting included. */
  readonly durationMs: number;
  /** False if it ended without a result. */
  readonly isAnswered: boolean;
}

/** The restart of a process. */
export interface ProcessRestart {
  readonly process: string;
}

const ended = channel(PROCESS_CHANNELS.call);
const restarted = channel(PROCESS_CHANNELS.restart);

/** Publishes the end of a call; costs nothing without subscribers. */
export function publishCallEnd(end: ProcessCallEnd): void {
  if (ended.hasSubscribers) ended.publish(end);
}

/** Publishes a restart. */
export function publishRestart(restart: ProcessRestart): void {
  if (restarted.hasSubscribers) restarted.publish(restart);
}
