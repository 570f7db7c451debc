/**
 * What a run stops to ask, as an escalation of the agent that began the run: people find it in the one
 * queue that they have, with the question, the form of the answer, and where it may be given.
 * AGTP "ESCALATE"
 */

import { isRecord } from "../../../base/json-value.ts";
import { sha256Hex } from "../../../identity/canonical-form.ts";
import type { Escalation, EscalationRequest } from "../../../state/escalation.ts";
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

/** The escalation of what a run waits for; undefined: it waits for nothing. */
export function escalationRequest(
  run: AgentRun,
  { payload }: RunResult,
  { manifest, approverScope }: Pick<RemoteAgent, "manifest" | "approverScope">,
  now: number,
): EscalationRequest | undefined {
  const { runId, base, owner, interrupt } = run;
  if (run.status !== "interrupted" || interrupt === undefined) return undefined;
  const { interruptId, type } = interrupt;
  const asked = manifest.specs.interrupts.find((one) => one.type === type);
  return {
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
    fingerprint: markOf(interruptId),
    ...(approverScope === undefined ? {} : { approverScope }),
  };
}

/** Which question an escalation is about, where it was this server that opened it. */
export function subjectOf({
  context,
  fingerprint,
}: Pick<Escalation, "context" | "fingerprint">): InterruptSubject | undefined {
  if (!isRecord(context)) return undefined;
  const { run_id: runId, interrupt_id: interruptId } = context;
  if (typeof runId !== "string" || typeof interruptId !== "string") return undefined;
  return fingerprint === markOf(interruptId) ? { runId, interruptId } : undefined;
}

/** No escalation that an agent writes has this fingerprint: those are digests of what it wrote. */
export function markOf(interruptId: string): string {
  return sha256Hex(`agntcy interrupt ${interruptId}`);
}

function part(name: string, value: unknown): Record<string, unknown> {
  const isLong = Buffer.byteLength(JSON.stringify(value)) > MAX_PART_BYTES;
  return isLong ? { [`${name}_omitted`]: true } : { [name]: value };
}
