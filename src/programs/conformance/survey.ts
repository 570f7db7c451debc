/**
 * A server's word about itself before any case is run: its manifest, the tiers of its endpoints, and
 * whether it negotiates. What it does not answer is a reason in words; only a server that cannot be
 * reached at all ends the run.   AGTP-API §5.8, §8.10
 */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import {
  type Answer,
  bodyText,
  describeAnswer,
  type Identity,
  identityLines,
  Questioner,
  type Target,
} from "./ask.ts";
import { createBindings } from "./text-pattern.ts";
import { encodeRequest, fillRequest } from "./transcript.ts";

/** A document, or why there is none: ends "the server's manifest …". */
export type Found<Value> = { readonly kind: "found"; readonly value: Value } | Missing;

interface Missing {
  readonly kind: "missing";
  readonly reason: string;
  /** The server may refuse it, and said so. */
  readonly isRefused: boolean;
}

/** Everything that was found out. */
export interface Survey {
  readonly manifest: Found<JsonRecord>;
  readonly inventory: Found<readonly JsonRecord[]>;
  readonly patterns: Found<JsonRecord>;
}

/** The survey, or that nobody is there. */
type SurveyResult =
  | { readonly kind: "survey"; readonly survey: Survey }
  | { readonly kind: "unreachable"; readonly message: string };

const ANONYMOUS = ["AGTP/1.0 DISCOVER /", "{{anyone}}"];
const BY_TYPE = ["AGTP/1.0 DISCOVER /", "{{agent}}", "Accept: application/vnd.agtp.manifest+json"];

/** Asks for all of it. */
export async function surveyServer(target: Target, identity: Identity): Promise<SurveyResult> {
  const lines = identityLines(identity);
  const ask = (request: readonly string[]): Promise<Answer> => askOnce(target, request, lines);
  const anonymous = await ask(ANONYMOUS);
  if (anonymous.kind === "unreachable") return anonymous;
  const first = documentOf(anonymous, isRecord);
  const isWithheld = first.kind === "missing" && first.isRefused && "agent" in lines;
  const manifest = isWithheld ? documentOf(await ask(BY_TYPE), isRecord) : first;
  // A server that does not answer at all is not asked three times.
  if (anonymous.kind === "silence" && first.kind === "missing") {
    return { kind: "survey", survey: { manifest, inventory: first, patterns: first } };
  }
  const inventory = documentOf(await ask(["AGTP/1.0 DISCOVER /methods", "{{caller}}"]), isRecords);
  const patterns = documentOf(await ask(["AGTP/1.0 DISCOVER /patterns", "{{caller}}"]), isRecord);
  return { kind: "survey", survey: { manifest, inventory, patterns } };
}

async function askOnce(
  target: Target,
  lines: readonly string[],
  values: Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const filled = fillRequest({ lines, isCut: false }, createBindings(values));
  if (filled.kind === "fault") return { kind: "garbage", message: filled.message };
  const questioner = new Questioner(target);
  try {
    return await questioner.ask(encodeRequest(filled.text));
  } finally {
    questioner.close();
  }
}

function documentOf<Value>(answer: Answer, is: (value: unknown) => value is Value): Found<Value> {
  const missing = (reason: string, isRefused = false): Missing => ({
    kind: "missing",
    reason,
    isRefused,
  });
  if (answer.kind !== "response") return missing(`cannot be had: it ${describeAnswer(answer)}`);
  const { status } = answer.response;
  if (status !== 200) return missing(`was refused with ${status}`, [262, 401].includes(status));
  try {
    const value: unknown = JSON.parse(bodyText(answer.response));
    return is(value) ? { kind: "found", value } : missing("is of another type than it should be");
  } catch {
    return missing("is no JSON");
  }
}

function isRecords(value: unknown): value is readonly JsonRecord[] {
  return Array.isArray(value) && value.every(isRecord);
}
