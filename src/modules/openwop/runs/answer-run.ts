/** Giving a run the word that one of its nodes waits for: the first one counts.   OpenWOP "interrupt" */
import type { Change } from "../../../state/store.ts";
import type { RunLog } from "./run-log.ts";
import { type RunRefusal, refuseRun } from "./run-refusal.ts";
import type { RunRegister } from "./run-register.ts";
import type { RunWatcher } from "./run-worker.ts";
import { answered, interruptOf, refuseWord, type Word } from "./verdict.ts";

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
  /** What has to change together with it. */
  readonly alongside: readonly Change[];
}

/** Answers a node; the caller has the run executed. */
export async function answerRun(
  log: RunLog,
  nodeId: string,
  word: Word,
  { register, watcher, alongside }: AnswerParts,
): Promise<AnsweredRun | RunRefusal> {
  const { run } = log;
  const interrupt = interruptOf(log.state, nodeId);
  if (interrupt === undefined) {
    return refuseRun("interrupt_not_found", "the node of this run waits for nothing");
  }
  const result = await register.held(run.runId, nodeId);
  let refusal: RunRefusal | undefined;
  const [event] = await log.append((state) => {
    refusal = refuseWord(state, nodeId);
    if (refusal !== undefined) return [];
    return answered(interrupt, word, result, { state, run, now: register.now() });
  }, alongside);
  if (refusal !== undefined) return refusal;
  watcher?.over(run, interrupt, word);
  return { log, interruptId: interrupt.interruptId, eventId: event?.eventId ?? "" };
}
