/** The output of a program that says that it speaks JSON, parsed; what is none is a warning. */
import { isTooDeep } from "../../../base/nesting.ts";

/** A value, or a warning. */
export interface StructuredOutput {
  readonly value?: unknown;
  readonly warning?: string;
}

/** Parses what was kept, which must be all of it. */
export function parseStructured(
  text: string,
  format: "json" | "ndjson",
  isTruncated: boolean,
): StructuredOutput {
  if (isTruncated) return { warning: `output.format is ${format}, but the output was cut off` };
  try {
    const value: unknown =
      format === "json" ? JSON.parse(text) : text.split("\n").flatMap(parseLine);
    return isTooDeep(value) ? { warning: "the output is nested too deeply" } : { value };
  } catch {
    return { warning: `output.format is ${format}, but the output is not` };
  }
}

function parseLine(line: string): readonly unknown[] {
  return line.trim() === "" ? [] : [JSON.parse(line) as unknown];
}
