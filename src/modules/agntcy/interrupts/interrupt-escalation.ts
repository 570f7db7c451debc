/**
 * The question of a run, as an escalation of the agent that began the run: people find it in the
 * one queue that they have, with the question, the form of the answer, and where it may be given.
 * AGTP "ESCALATE"
 */

import type { InterruptKind, InterruptQuestion } from "../../../runs/interrupt-escalations.ts";
import type { RemoteAgent } from "../remote-agent.ts";
import type { AgentRun, RunResult } from "../runs/run.ts";

/** The question of a run that an escalation is about. */
export interface InterruptSubject {
  readonly runId: string;
  readonly interruptId: string;
}

/** As long as a run is kept that waits. */
const DEADLINE_MS = 30 * 24 * 3_600_000;
/** A queue that people read is no place for more. */
const MAX_PART_BYTES = 16_384;

/** The kind of its escalations, which tells them from others. */
export const INTERRUPTS: InterruptKind<InterruptSubject> = {
  name: "agntcy",
  readSubject: ({ run_id: runId, interrupt_id: interruptId }) =>
    typeof runId === "string" && typeof interruptId === "string"
      ? { runId, interruptId }
      : undefined,
};

/** The question that a run waits for an answer to; undefined: it waits for nothing. */
export function questionOf(
  run: AgentRun,
  { payload }: RunResult,
  { manifest, approverScope }: Pick<RemoteAgent, "manifest" | "approverScope">,
  now: number,
): InterruptQuestion | undefined {
  const { runId, base, owner, interrupt } = run;
  if (run.status !== "interrupted" || interrupt === undefined) return undefined;
  const { interruptId, type } = interrupt;
  const asked = manifest.specs.interrupts.find((one) => one.type === type);
  return {
    interruptId,
    request: {
      agentId: owner,
      // The draft has no word for what needs somebody's approval; this is the nearest.
      reason: "scope_limit",
      priority: "normal",
      context: {
        kind: "agntcy.interrupt",
        ...{ run_id: runId, interrupt_id: interruptId, path: `${base}/runs/${runId}` },
        ...{ agent: manifest.name, interrupt_type: type },
        ...part("payload", payload ?? null),
        ...part("resume_schema", asked?.resume.schema ?? {}),
      },
      deadlineAt: now + DEADLINE_MS,
      ...(approverScope === undefined ? {} : { approverScope }),
    },
  };
}

function part(name: string, value: unknown): Record<string, unknown> {
  const isLong = Buffer.byteLength(JSON.stringify(value)) > MAX_PART_BYTES;
  return isLong ? { [`${name}_omitted`]: true } : { [name]: value };
}
