/** Where it is told what becomes of calls to processes: `node:diagnostics_channel`, for metrics. */
import { channel } from "node:diagnostics_channel";

/** Channel names, and what their messages carry. */
export const PROCESS_CHANNELS = {
  /** `ProcessCallEnd` */
  call: "agtpd:process:call",
  /** `ProcessRestart` */
  restart: "agtpd:process:restart",
} as const;

export interface ProcessCallEnd {
  readonly process: string;
  /** The time from the call to its end, the waiting for room included. */
  readonly durationMs: number;
  /** False: it ended without a result. */
  readonly isAnswered: boolean;
}

/** A process is started again. */
export interface ProcessRestart {
  readonly process: string;
}

const ended = channel(PROCESS_CHANNELS.call);
const restarted = channel(PROCESS_CHANNELS.restart);

/** Tells of the end of a call; costs nothing while nobody listens. */
export function publishCallEnd(end: ProcessCallEnd): void {
  if (ended.hasSubscribers) ended.publish(end);
}

/** Tells of a restart. */
export function publishRestart(restart: ProcessRestart): void {
  if (restarted.hasSubscribers) restarted.publish(restart);
}
