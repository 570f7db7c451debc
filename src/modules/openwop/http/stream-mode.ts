/** The events that a listener asked for, and the form in which they are written.   OpenWOP "stream-modes" */
import type { RunEvent, RunEventType } from "../runs/run-event.ts";
import { type ApiAnswer, refuse } from "./answer.ts";

/** The modes; `values` stands for itself alone. */
export const STREAM_MODES = ["values", "updates", "messages", "debug"] as const;

/** A mode that events are streamed in. */
export type StreamMode = (typeof STREAM_MODES)[number];

/** The types of events that are no progress of a run. */
const DETAILS: ReadonlySet<RunEventType> = new Set([
  "node.started",
  "node.retried",
  "cap.breached",
  "variable.changed",
  "agent.reasoning.delta",
]);

/** The modes that a query asks for, `updates` unless it says. */
export function readModes(value: unknown): readonly StreamMode[] | ApiAnswer {
  if (value === undefined) return ["updates"];
  const names = String(value)
    .split(",")
    .slice(0, STREAM_MODES.length + 1);
  const modes = names.flatMap((name) => STREAM_MODES.find((mode) => mode === name.trim()) ?? []);
  const isMixed = modes.includes("values") && modes.length > 1;
  if (modes.length === names.length && !isMixed) return modes;
  const message = isMixed
    ? "streamMode=values cannot be mixed with others"
    : "the host has no such streamMode";
  return refuse(400, "unsupported_stream_mode", message, { supported: STREAM_MODES });
}

/** Tells whether one of the modes shows an event as it is. */
export function isShown({ type }: RunEvent, modes: readonly StreamMode[]): boolean {
  return modes.includes("debug") || (modes.includes("updates") && !DETAILS.has(type));
}

/** Tells whether a new snapshot is due after an event. */
export function isStep({ type }: RunEvent): boolean {
  return type === "node.started" || !DETAILS.has(type);
}

const WAITING: ReadonlySet<RunEventType> = new Set(["node.suspended", "interrupt.requested"]);

/** The types of events that nobody is kept waiting for. */
export function isUrgent({ type }: RunEvent): boolean {
  return type.startsWith("run.") || WAITING.has(type);
}
