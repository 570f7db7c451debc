/** The answers that a clarification gate waits for.   OpenWOP "interrupt" clarification */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { type Answering, type InterruptAnswer, resolved } from "./interrupt-answer.ts";
import { nodeDone } from "./node-events.ts";
import type { EventDraft } from "./run-event.ts";
import type { Interrupt } from "./run-state.ts";

/** The answers by their questions' ids, written as an object or as a list of `{id, answer}`. */
export function readAnswers(resumeValue: unknown): unknown {
  const { answers } = isRecord(resumeValue) ? resumeValue : {};
  if (!isRecord(resumeValue) || !Array.isArray(answers)) return resumeValue;
  const ids = new Set(answers.map((one) => (isRecord(one) ? one["id"] : undefined)));
  const isWhole = answers.every(
    (one) => isRecord(one) && typeof one["id"] === "string" && Object.hasOwn(one, "answer"),
  );
  if (!isWhole || ids.size < answers.length) return resumeValue;
  const read = answers.map((one: JsonRecord) => [String(one["id"]), one["answer"]]);
  return { ...resumeValue, answers: Object.fromEntries(read) };
}

/** The events of them. */
export function clarificationAnswered(
  interrupt: Interrupt,
  answer: InterruptAnswer,
  at: Answering,
): readonly EventDraft[] {
  const { nodeId, interruptId } = interrupt;
  const { answers: read } = isRecord(answer.resumeValue) ? answer.resumeValue : {};
  const answers = isRecord(read) ? read : {};
  const payload = { nodeId, interruptId, answers, answeredBy: answer.by };
  return [
    resolved(interrupt, answer, at.now),
    { type: "clarification.resolved", nodeId, payload },
    nodeDone(nodeId, { ...answers, answers }, at),
  ];
}
