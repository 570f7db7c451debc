/**
 * A model's last words, read as an object with a result and what goes with it, as it was asked
 * for, or the result alone, or a text.
 */

import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { parseBoundedJson } from "../../../identity/json-document.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import { type RuntimeAnswer, readHandoff } from "./agent-runtime.ts";

type Answered = Extract<RuntimeAnswer, { kind: "answered" }>;
type Malformed = Extract<RuntimeAnswer, { kind: "malformed" }>;

/** The model says in the form of its answer that it gives none. */
interface Refused {
  readonly kind: "refused";
}

const MEMBERS: ReadonlySet<string> = new Set([
  "reasoning",
  "decision",
  "confidence",
  "result",
  "handoff",
]);

/** Text that begins like an object, or has the members of the one that was asked for. */
const MEANT_AS_JSON = /^\s*(?:```[a-z]{0,16}\s*)?\{|"(?:result|confidence)"\s*:/;

/** Reads it; where both readings are possible, the one whose result the schema takes. */
export function readModelAnswer(
  content: string,
  schema: CompiledSchema | undefined,
): Answered | Malformed | Refused {
  if (content.trim() === "") return malformed(content, "the model's answer is empty");
  const value = findJson(content);
  if (value === undefined) {
    // How sure the model is stands in there, too: it is not passed over.
    return MEANT_AS_JSON.test(content)
      ? malformed(content, "the model's answer is neither JSON nor plain text")
      : { kind: "answered", result: content };
  }
  const plain: Answered = { kind: "answered", result: value };
  if (!isRecord(value)) return plain;
  const isResult = schema !== undefined && schema.check(value) === undefined;
  if (isRefusal(value) && !isResult) return { kind: "refused" };
  if (!isEnveloped(value)) return plain;
  const isTaken = schema === undefined || schema.check(value["result"]) === undefined;
  return isTaken || schema.check(value) !== undefined ? readEnvelope(value) : plain;
}

function malformed(content: string, message: string): Malformed {
  return { kind: "malformed", content, message };
}

/** Words of refusal where the result would stand. */
function isRefusal({ refusal, result = null, ...others }: JsonRecord): boolean {
  const isSaid = typeof refusal === "string" && refusal !== "" && result === null;
  return isSaid && Object.keys(others).every((name) => MEMBERS.has(name));
}

function isEnveloped(value: JsonRecord): boolean {
  return Object.hasOwn(value, "result") && Object.keys(value).every((name) => MEMBERS.has(name));
}

function readEnvelope({ result, reasoning, decision, confidence, handoff }: JsonRecord): Answered {
  const read = readHandoff(handoff);
  return {
    kind: "answered",
    result,
    ...(typeof reasoning === "string" ? { reasoning } : {}),
    ...(decision === undefined || decision === null ? {} : { decision }),
    ...readNumber(confidence),
    // No agent has an empty name.
    ...(read.handoff?.toAgentId === "" ? {} : read),
  };
}

/** Models put numbers into quotation marks. */
function readNumber(written: unknown): { readonly confidence?: unknown } {
  if (written === undefined || written === null) return {};
  const isText = typeof written === "string" && written.trim() !== "";
  const number = isText ? Number(written) : Number.NaN;
  return { confidence: Number.isNaN(number) ? written : number };
}

/** Models put JSON into fences, and words around it. */
function findJson(content: string): unknown {
  const text = content.trim();
  const fenced = /^```[a-z]{0,16}\s*\n([\s\S]*)\n```$/.exec(text)?.[1] ?? text;
  const whole = parseBoundedJson(fenced);
  if (whole.fault === undefined) return whole.value;
  const start = text.indexOf("{");
  const end = text.lastIndexOf("}");
  if (start === -1 || end < start) return undefined;
  const inner = parseBoundedJson(text.slice(start, end + 1));
  return inner.fault === undefined ? inner.value : undefined;
}
