/**
 * The texts of a source. A text is read as it is. Of a JSON value every longer text is
 * read for itself, and the short members of an object together, as one line that names them.
 * AGTP "SUMMARIZE"
 */
import { isRecord } from "../../base/json-value.ts";

/** A source: a text, or any other value of parsed JSON. */
export type ExtractSource = unknown;

/** Values of a list that share a line. */
const LINE_ITEMS = 16;
const SHORT = 80;
/** A full stop within a number, a version or a name ends nothing. */
const SENTENCE_END = /[.!?](?:\s|$)|[。！？।؟]/u;

type Part = { readonly name: string; readonly value: unknown };

/** The texts of a source, in its order. */
export function* textsOf(source: ExtractSource): Generator<string> {
  // Not by recursion: a value may be nested more deeply than the stack is.
  const pending: Part[] = [{ name: "", value: source }];
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    const { name, value } = part;
    if (typeof value === "string" && !isShort(value)) yield value;
    else if (isScalar(value)) yield named(name, [value]);
    else if (Array.isArray(value)) {
      yield* linesOf(name, value.filter(isShort));
      pushAll(
        pending,
        value.filter(isLong).map((item) => ({ name, value: item })),
      );
    } else if (isRecord(value)) {
      const members = Object.entries(value).map(([member, item]) => ({
        name: member,
        value: item,
      }));
      const short = members.filter((member) => isShort(member.value));
      if (short.length > 0)
        yield short.map((member) => named(member.name, [member.value])).join("; ");
      pushAll(
        pending,
        members.filter((member) => isLong(member.value)),
      );
    }
  }
}

/** The first is to be taken first, from the end. */
function pushAll(pending: Part[], parts: readonly Part[]): void {
  for (const part of parts.toReversed()) pending.push(part);
}

function* linesOf(name: string, values: readonly unknown[]): Generator<string> {
  for (let at = 0; at < values.length; at += LINE_ITEMS) {
    yield named(name, values.slice(at, at + LINE_ITEMS));
  }
}

function named(name: string, values: readonly unknown[]): string {
  const list = values.join(", ");
  return name === "" ? list : `${name}: ${list}`;
}

function isScalar(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

/** Tells whether a value is no sentence of its own. */
function isShort(value: unknown): boolean {
  if (typeof value === "string") return value.length <= SHORT && !SENTENCE_END.test(value);
  return isScalar(value);
}

function isLong(value: unknown): boolean {
  return value !== null && value !== undefined && !isShort(value);
}
