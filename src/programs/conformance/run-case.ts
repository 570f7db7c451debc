/**
 * Runs one case against a server: exchange by exchange, until one is not answered as it should be.
 * The case ends by its deadline with an outcome, whatever the server does.
 */
import type { ReceivedResponse } from "../../wire/response-parser.ts";
import { type Answer, bodyText, describeAnswer, Questioner, type Target } from "./ask.ts";
import { type Bindings, createBindings } from "./bindings.ts";
import type { ConformanceCase } from "./case.ts";
import { encodeRequest, fillRequest } from "./request-text.ts";
import { matchAny } from "./response-pattern.ts";
import type { TestSubject } from "./subject.ts";
import type { TranscriptExchange } from "./transcript.ts";
import type { Failure, Outcome } from "./verdict.ts";

const PASSED: Outcome = { kind: "passed" };
const LEFT_OPEN = "the server left the connection open, expected it to be closed";
const ANSWERED = "the server answered, expected it to close the connection only";
const TOO_DEEP = "body: is nested too deeply to be compared";
const MAX_DIFFERENCES = 20;
const MAX_SHOWN = 4000;

/** Asks what the case asks; the caller has seen to what it needs. */
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
      // The first fault is the one that the case reports.
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
    request: shorten(bytes.toString("utf8").replaceAll("\r\n", "\n")),
    expected: expectedText(exchange),
    got: answerText(answer),
    isSilence: answer.kind === "silence" || answer.kind === "unreachable",
  };
  return { kind: "failed", failure };
}

interface Comparison {
  readonly differences: readonly string[];
  readonly skipReason?: string | undefined;
}

function compare(
  { responses }: TranscriptExchange,
  answer: Answer,
  bindings: Bindings,
): Comparison {
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
    // Comparing recurses into the value.
    if (error instanceof RangeError) return { differences: [TOO_DEEP] };
    throw error;
  }
}

function expectedText({ responses, isClosed }: TranscriptExchange): string {
  const wanted = responses.filter(({ skipReason }) => skipReason === undefined);
  const texts = wanted.map(({ lines }) => lines.join("\n"));
  const closing = isClosed ? ["and the connection is closed"] : [];
  return shorten([texts.join("\n---------- or\n"), ...closing].join("\n").trim());
}

function answerText(answer: Answer): string {
  if (answer.kind !== "response") return `the server ${describeAnswer(answer)}`;
  return shorten(responseText(answer.response));
}

function responseText(response: ReceivedResponse): string {
  const { status, statusText, headers } = response;
  const fields = Array.from(headers, ([name, value]) => `${name}: ${value}\n`);
  const body = bodyText(response);
  return `AGTP/1.0 ${status} ${statusText}\n${fields.join("")}${body === "" ? "" : `\n${body}`}`;
}

function shorten(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
