/**
 * Events as a listener's modes have them: as they are, as snapshots of the run, or as the text that
 * an agent is thinking aloud.   OpenWOP "stream-modes"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import { applyEvent } from "../runs/fold-run.ts";
import type { Run } from "../runs/run.ts";
import type { RunEvent } from "../runs/run-event.ts";
import { runSnapshot } from "../runs/run-snapshot.ts";
import { initialState, type RunState } from "../runs/run-state.ts";
import { isShown, isStep, type StreamMode } from "./stream-mode.ts";

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
