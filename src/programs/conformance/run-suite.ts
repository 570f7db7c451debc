/**
 * Runs cases against a server in sequence: skips those that the server does not claim to support or
 * the caller did not permit, and gives up on a silent server.
 */

import { clip } from "../../base/json-value.ts";
import type { ReceivedResponse } from "../../wire/response-parser.ts";
import { type Answer, bodyText, describeAnswer, Questioner, type Target } from "./ask.ts";
import type { ConformanceCase } from "./case.ts";
import type { KnownFailing } from "./command-inputs.ts";
import { matchAny } from "./response-pattern.ts";
import type { TestSubject } from "./subject.ts";
import { type Bindings, createBindings } from "./text-pattern.ts";
import { encodeRequest, fillRequest, type TranscriptExchange } from "./transcript.ts";
import type { CaseVerdict, Failure, Outcome, Standing } from "./verdict.ts";

interface SuiteOptions {
  readonly target: Target;
  readonly allowStateChanges: boolean;
  /** True if an unmet SHOULD is a failure. */
  readonly isStrict: boolean;
  readonly known: KnownFailing;
  /** The time for all cases together; the remaining ones then fail without being run. */
  readonly totalTimeoutMs: number;
}

/** The number of consecutive cases without an answer after which the server counts as silent. */
const MAX_SILENT = 3;

/** Returns a verdict on each case, in their order. */
export async function runSuite(
  cases: readonly ConformanceCase[],
  subject: TestSubject,
  options: SuiteOptions,
): Promise<readonly CaseVerdict[]> {
  const verdicts: CaseVerdict[] = [];
  const end = performance.now() + options.totalTimeoutMs;
  let silent = 0;
  for (const one of cases) {
    const started = performance.now();
    const untried = reasonNotToTry(one, subject, options);
    const outcome =
      untried ?? stopped(silent, end) ?? (await runCase(one, subject, boundedBy(end, options)));
    if (untried === undefined) silent = isSilence(outcome) ? silent + 1 : 0;
    verdicts.push(judge(one, outcome, options, performance.now() - started));
  }
  return verdicts;
}

function reasonNotToTry(
  { needs, changesState }: ConformanceCase,
  { lacking }: TestSubject,
  { allowStateChanges }: SuiteOptions,
): Outcome | undefined {
  if (changesState && !allowStateChanges) {
    return { kind: "skipped", reason: "it changes state, which --allow-state-changes allows" };
  }
  const lacks = needs.flatMap((need) => lacking.get(need) ?? []);
  const [lack] = [...lacks.filter(({ isFault }) => !isFault), ...lacks];
  if (lack === undefined) return undefined;
  return lack.isFault ? failedUntried(lack.reason) : { kind: "skipped", reason: lack.reason };
}

function stopped(silent: number, end: number): Outcome | undefined {
  if (silent >= MAX_SILENT) {
    const reason = `not tried: ${MAX_SILENT} cases running were not answered in time`;
    return failedUntried(reason, true);
  }
  return performance.now() < end ? undefined : failedUntried("not tried: the time for all is up");
}

function failedUntried(reason: string, isSilence = false): Outcome {
  const nothing = { line: 0, request: "", expected: "", got: "", isSilence };
  return { kind: "failed", failure: { ...nothing, differences: [reason] } };
}

function boundedBy(end: number, { target }: SuiteOptions): Target {
  return { ...target, timeoutMs: Math.min(target.timeoutMs, end - performance.now()) };
}

function isSilence(outcome: Outcome): boolean {
  return outcome.kind === "failed" && outcome.failure.isSilence;
}

function judge(
  one: ConformanceCase,
  outcome: Outcome,
  { known, isStrict }: SuiteOptions,
  durationMs: number,
): CaseVerdict {
  const knownReason = known.get(one.name);
  const isAdvice = one.level === "should" && !isStrict;
  return {
    case: one,
    outcome,
    standing: standingOf(outcome, { isKnown: knownReason !== undefined, isAdvice }),
    knownReason,
    durationMs: Math.round(durationMs),
  };
}

function standingOf(
  { kind }: Outcome,
  { isKnown, isAdvice }: { readonly isKnown: boolean; readonly isAdvice: boolean },
): Standing {
  if (kind === "skipped") return "skipped";
  if (kind === "passed") return isKnown ? "no-longer-failing" : "passed";
  if (isKnown) return "known-failing";
  return isAdvice ? "advised" : "failed";
}

const PASSED: Outcome = { kind: "passed" };
const LEFT_OPEN = "the server left the connection open, expected it to be closed";
const ANSWERED = "the server answered, expected it to close the connection only";
const TOO_DEEP = "body: is nested too deeply to be compared";
const MAX_DIFFERENCES = 20;
const MAX_SHOWN = 4000;

/**
 * Runs the exchanges of one case against a server until one fails. The case always ends with an
 * outcome by its deadline. The caller has checked that the needs of the case are met.
 */
export async function runCase(
  one: ConformanceCase,
  subject: TestSubject,
  target: Target,
): Promise<Outcome> {
  const questioner = new Questioner(target);
  const progress = { questioner, bindings: createBindings(subject.values), one };
  let outcome = PASSED;
  try {
    for (const exchange of one.exchanges) {
      if (outcome.kind !== "passed" && !exchange.isFinal) continue;
      const next = await runExchange(exchange, progress);
      // The case reports its first fault.
      if (outcome.kind === "passed") outcome = next;
    }
    return outcome;
  } finally {
    questioner.close();
  }
}

interface Progress {
  readonly questioner: Questioner;
  readonly bindings: Bindings;
  readonly one: ConformanceCase;
}

async function runExchange(
  exchange: TranscriptExchange,
  { questioner, bindings, one }: Progress,
): Promise<Outcome> {
  const { line, isClosed, request } = exchange;
  const filled = fillRequest(request, bindings);
  if (filled.kind === "fault") {
    const failure: Failure = {
      line,
      differences: [filled.message],
      request: request.lines.join("\n"),
      expected: expectedText(exchange),
      got: "nothing was sent",
      isSilence: false,
    };
    return { kind: "failed", failure };
  }
  const bytes = encodeRequest(filled.text);
  const { isCut } = filled.text;
  const answer = await questioner.ask(bytes, { isCut, isRepeatable: !one.changesState });
  const { differences, skipReason } = compare(exchange, answer, bindings);
  if (skipReason !== undefined) return { kind: "skipped", reason: skipReason };
  const [first, ...others] = differences;
  if (first === undefined && (!isClosed || (await questioner.isClosedByServer()))) return PASSED;
  const failure: Failure = {
    line,
    differences: [first ?? LEFT_OPEN, ...others.slice(0, MAX_DIFFERENCES - 1)],
    request: clip(bytes.toString("utf8").replaceAll("\r\n", "\n"), MAX_SHOWN),
    expected: expectedText(exchange),
    got: answerText(answer),
    isSilence: answer.kind === "silence" || answer.kind === "unreachable",
  };
  return { kind: "failed", failure };
}

function compare({ responses }: TranscriptExchange, answer: Answer, bindings: Bindings) {
  if (responses.length === 0) {
    return { differences: answer.kind === "closed" ? [] : [ANSWERED] };
  }
  if (answer.kind !== "response") return { differences: [`the server ${describeAnswer(answer)}`] };
  const { status, headers } = answer.response;
  const actual = { status, headers, body: bodyText(answer.response) };
  try {
    const found = matchAny(responses, actual, { unlistedHeaders: "ignore", bindings });
    if (found.kind === "mismatch") return { differences: found.mismatches };
    return { differences: [], skipReason: found.response.skipReason };
  } catch (error) {
    // The comparison recurses into the value, so a deep one overflows the stack.
    if (error instanceof RangeError) return { differences: [TOO_DEEP] };
    throw error;
  }
}

function expectedText({ responses, isClosed }: TranscriptExchange): string {
  const wanted = responses.filter(({ skipReason }) => skipReason === undefined);
  const texts = wanted.map(({ lines }) => lines.join("\n"));
  const closing = isClosed ? ["and the connection is closed"] : [];
  return clip([texts.join("\n---------- or\n"), ...closing].join("\n").trim(), MAX_SHOWN);
}

function answerText(answer: Answer): string {
  if (answer.kind !== "response") return `the server ${describeAnswer(answer)}`;
  return clip(responseText(answer.response), MAX_SHOWN);
}

function responseText(response: ReceivedResponse): string {
  const { status, statusText, headers } = response;
  const fields = Array.from(headers, ([name, value]) => `${name}: ${value}\n`);
  const body = bodyText(response);
  return `AGTP/1.0 ${status} ${statusText}\n${fields.join("")}${body === "" ? "" : `\n${body}`}`;
}
