/** Giving a run the word that one of its nodes waits for: the first one counts.   OpenWOP "interrupt" */
import type { SchemaCompiler } from "../../../schema/schema.ts";
import type { Change } from "../../../state/store.ts";
import { approvalAnswered, refuseVote } from "./approval.ts";
import { clarificationAnswered, readAnswers } from "./clarification.ts";
import { invalid, under } from "./make-run.ts";
import type { EventDraft } from "./run-event.ts";
import type { Redact, RunLog } from "./run-log.ts";
import { type RunRefusal, refuseRun } from "./run-refusal.ts";
import type { RunRegister } from "./run-register.ts";
import type { Interrupt } from "./run-state.ts";
import type { RunWatcher } from "./run-worker.ts";
import { decisionAnswered, interruptOf, refuseWord } from "./verdict.ts";
import type { Answering, Word } from "./word.ts";

/** A run whose node has its answer. */
export interface AnsweredRun {
  readonly log: RunLog;
  readonly interruptId: string;
  /** The event that says so. */
  readonly eventId: string;
}

/** What answering takes besides the log. */
export interface AnswerParts {
  readonly register: RunRegister;
  readonly watcher?: RunWatcher;
  readonly compiler: SchemaCompiler;
  readonly redact: Redact;
  /** What has to change together with it. */
  readonly alongside: readonly Change[];
}

/** Answers a node; the caller has the run executed. */
export async function answerRun(
  log: RunLog,
  nodeId: string,
  given: Word,
  { register, watcher, alongside, compiler, redact }: AnswerParts,
): Promise<AnsweredRun | RunRefusal> {
  const { run } = log;
  const interrupt = interruptOf(log.state, nodeId);
  if (interrupt === undefined) {
    return refuseRun("interrupt_not_found", "the node of this run waits for nothing");
  }
  const word = { ...given, resumeValue: readWord(interrupt, given.resumeValue) };
  const misfit = refuseMisfit(interrupt, word, compiler);
  if (misfit !== undefined) return redact(misfit);
  const result = await register.held(run.runId, nodeId);
  let refusal: RunRefusal | undefined;
  const [event] = await log.append((state) => {
    const now = interruptOf(state, nodeId) ?? interrupt;
    refusal = refuseWord(state, nodeId) ?? refuseVote(now, word);
    if (refusal !== undefined) return [];
    return answered(now, word, result, { state, run, now: register.now() });
  }, alongside);
  if (refusal !== undefined) return refusal;
  if (interruptOf(log.state, nodeId)?.isResolved !== false) watcher?.over(run, interrupt, word);
  return { log, interruptId: interrupt.interruptId, eventId: event?.eventId ?? "" };
}

function readWord({ kind }: Interrupt, resumeValue: unknown): unknown {
  return kind === "clarification" ? readAnswers(resumeValue) : resumeValue;
}

/** A word that is none of those that are waited for changes nothing. */
function refuseMisfit(
  { resumeSchema }: Interrupt,
  { resumeValue }: Word,
  compiler: SchemaCompiler,
): RunRefusal | undefined {
  if (resumeSchema === undefined) return undefined;
  const place = { file: "interrupt", key: "resumeSchema" };
  const violations = compiler.compile(resumeSchema, place).compiled?.check(resumeValue) ?? [];
  return violations.length === 0 ? undefined : invalid(violations.map(under("/resumeValue")));
}

function answered(
  interrupt: Interrupt,
  word: Word,
  result: unknown,
  at: Answering,
): readonly EventDraft[] {
  switch (interrupt.kind) {
    case "approval":
      return approvalAnswered(interrupt, word, at);
    case "clarification":
      return clarificationAnswered(interrupt, word, at);
    case "low-confidence":
      return decisionAnswered(interrupt, word, result, at);
  }
}
