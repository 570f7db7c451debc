/**
 * The arguments of a tool, built from a call's input, directly or by the operator's template. A
 * template text that is a single placeholder, `"{subject}"`, becomes the field's value of any type;
 * a placeholder within a text becomes text. An absent field leaves its argument out.
 */
import { isRecord, type JsonRecord, memberOf } from "../base/json-value.ts";
import { fillTemplate, templateNames, templatePieces } from "../base/template.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Returns the fields that a template uses. */
export function argumentFields(template: unknown): readonly string[] {
  if (typeof template === "string")
    return templateNames(template).filter((name) => NAME.test(name));
  if (Array.isArray(template)) return template.flatMap(argumentFields);
  return isRecord(template) ? Object.values(template).flatMap(argumentFields) : [];
}

/** Builds the arguments for an input; without a template, the input itself. */
export function fillArguments(template: JsonRecord | undefined, input: JsonRecord): JsonRecord {
  if (template === undefined) return input;
  return fillMembers(template, input);
}

function fillMembers(template: JsonRecord, input: JsonRecord): JsonRecord {
  const members: [string, unknown][] = [];
  for (const [name, value] of Object.entries(template)) {
    const filled = fill(value, input);
    if (filled !== undefined) members.push([name, filled]);
  }
  return Object.fromEntries(members);
}

function fill(value: unknown, input: JsonRecord): unknown {
  if (typeof value === "string") return fillText(value, input);
  if (Array.isArray(value)) {
    return value.map((item) => fill(item, input)).filter((item) => item !== undefined);
  }
  return isRecord(value) ? fillMembers(value, input) : value;
}

function fillText(text: string, input: JsonRecord): unknown {
  const [piece, ...others] = templatePieces(text);
  const isWhole = others.length === 0 && piece?.kind === "parameter" && NAME.test(piece.name);
  if (isWhole) return memberOf(input, piece.name);
  return fillTemplate(text, (name) => {
    if (!NAME.test(name)) return undefined;
    const value = memberOf(input, name) ?? "";
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}
