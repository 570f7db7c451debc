/**
 * The change of a run by the verdict of an agent's server. The manifest's schemas are the contract:
 * an output that they do not describe is the server's mistake, and which question an interrupt asks
 * is told by them too.
 */

import { isRecord } from "../../../base/json-value.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { Verdict } from "../acp/acp-answers.ts";
import type { AcpFailure } from "../acp/acp-call.ts";
import type { AcpSpecs, Interrupt } from "../manifest/manifest.ts";
import type { RunChange } from "./agent-runs.ts";
import type { RunError, RunResult } from "./run.ts";

/** The outcome for the run. */
export interface RunOutcome {
  readonly change: RunChange;
  readonly result: RunResult;
}

const MAX_FAULT_LENGTH = 300;

/** The outcome of anything but `pending`. */
export function takeVerdict(
  verdict: Exclude<Verdict, { readonly kind: "pending" }>,
  specs: AcpSpecs,
): RunOutcome {
  switch (verdict.kind) {
    case "success":
      return takeOutput(verdict.output, specs);
    case "interrupted":
      return takeInterrupt(verdict.interrupt, specs.interrupts);
    case "error":
    case "timeout": {
      const { kind, ...more } = verdict;
      const message = kind === "error" ? "the agent's run failed" : "the agent's run took too long";
      return failed({ code: "agent_run_failed", message, ...more });
    }
  }
}

/** The outcome of a call that came to nothing. */
export function takeFailure({ error, message }: AcpFailure): RunOutcome {
  return failed({ code: error, message });
}

function failed(error: RunError): RunOutcome {
  return { change: { status: "error", error, interrupt: undefined }, result: {} };
}

function takeOutput(output: unknown, { output: schema }: AcpSpecs): RunOutcome {
  const [violation] = schema.check(output) ?? [];
  if (violation === undefined) {
    const change = { status: "success", error: undefined, interrupt: undefined } as const;
    return { change, result: { output } };
  }
  const fault = `${violation.path || "/"} ${violation.message}`.slice(0, MAX_FAULT_LENGTH);
  const message = `the run's output is not what the agent's manifest declares: ${fault}`;
  return failed({ code: "upstream_malformed_response", message });
}

function takeInterrupt(written: unknown, interrupts: readonly Interrupt[]): RunOutcome {
  const found = identifyInterrupt(written, interrupts);
  if (found === undefined) {
    const message =
      "the run was interrupted for something that the agent's manifest does not declare";
    return failed({ code: "upstream_malformed_response", message });
  }
  const interrupt = { interruptId: uuidv7(), type: found.type };
  const change = { status: "interrupted", error: undefined, interrupt } as const;
  return { change, result: { payload: found.payload } };
}

/**
 * Servers wrap what an interrupt holds in its type; one that only has what it holds is taken for the
 * first type that describes it, as they do themselves. One that says nothing can only be the only one.
 */
function identifyInterrupt(
  written: unknown,
  interrupts: readonly Interrupt[],
): { readonly type: string; readonly payload: unknown } | undefined {
  if (isRecord(written)) {
    const named = interrupts.find(({ type }) => Object.hasOwn(written, type));
    const isWrapper = Object.keys(written).length === 1;
    if (named !== undefined && isWrapper) return { type: named.type, payload: written[named.type] };
  }
  if (written === undefined || written === null) {
    const [only, ...others] = interrupts;
    return only === undefined || others.length > 0 ? undefined : { type: only.type, payload: null };
  }
  const fitting = interrupts.find(({ payload }) => payload.check(written) === undefined);
  return fitting && { type: fitting.type, payload: written };
}
