/**
 * Events as a listener's modes have them: as they are, as snapshots of the run, or as the text that
 * an agent is thinking aloud.   OpenWOP "stream-modes"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import { applyEvent } from "../runs/fold-run.ts";
import type { Run, RunEvent, RunEventType } from "../runs/run.ts";
import { runSnapshot } from "../runs/run-snapshot.ts";
import { initialState, type RunState } from "../runs/run-state.ts";
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
function isStep({ type }: RunEvent): boolean {
  return type === "node.started" || !DETAILS.has(type);
}

const WAITING: ReadonlySet<RunEventType> = new Set(["node.suspended", "interrupt.requested"]);

/** The types of events that nobody is kept waiting for. */
export function isUrgent({ type }: RunEvent): boolean {
  return type.startsWith("run.") || WAITING.has(type);
}

/** One thing to be sent. */
export interface Frame {
  readonly id: number;
  readonly event: string;
  readonly data: unknown;
}

export class Frames {
  readonly #run: Run;
  readonly #modes: readonly StreamMode[];
  #state: RunState;
  #isThinking = false;

  constructor(run: Run, modes: readonly StreamMode[]) {
    this.#run = run;
    this.#modes = modes;
    this.#state = initialState(run);
  }

  /** Tells whether events that are not sent have to be looked at all the same. */
  get needsHistory(): boolean {
    return this.#modes.includes("values");
  }

  /** An event that the listener has seen already. */
  pass(event: RunEvent): void {
    this.#state = applyEvent(this.#state, event, this.#run);
  }

  /** The first frames for a listener that comes back. */
  baseline(id: number): readonly Frame[] {
    return this.needsHistory ? [this.#snapshot(id)] : [];
  }

  /** The frames that are sent of an event. */
  next(event: RunEvent): readonly Frame[] {
    const { sequence: id, type } = event;
    if (this.needsHistory) {
      this.pass(event);
      return isStep(event) ? [this.#snapshot(id)] : [];
    }
    return [
      ...(isShown(event, this.#modes) ? [{ id, event: type, data: event }] : []),
      ...(this.#modes.includes("messages") ? this.#message(event) : []),
    ];
  }

  #snapshot(id: number): Frame {
    return { id, event: "state.snapshot", data: runSnapshot(this.#run, this.#state) };
  }

  #message({ sequence: id, type, payload, nodeId, runId }: RunEvent): readonly Frame[] {
    const chunk = (said: JsonRecord): Frame => {
      return { id, event: "ai.message.chunk", data: { nodeId, runId, ...said } };
    };
    if (type === "agent.reasoning.delta") {
      this.#isThinking = true;
      return [chunk({ chunk: payload["delta"], isLast: false })];
    }
    if (type !== "agent.reasoned" || !this.#isThinking) return [];
    this.#isThinking = false;
    return [chunk({ chunk: "", isLast: true })];
  }
}
