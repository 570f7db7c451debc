/**
 * The arguments of a tool, made of a call's input: as they are, or by the operator's template. A
 * text that is one place, `"{subject}"`, becomes the field's value whatever its type; a place inside
 * a text becomes text. A field that is not in the input leaves its argument out.
 */
import { isRecord, type JsonRecord, memberOf } from "../base/json-value.ts";
import { fillTemplate, templateNames, templatePieces } from "../base/template.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The fields that a template names. */
export function argumentFields(template: unknown): readonly string[] {
  if (typeof template === "string")
    return templateNames(template).filter((name) => NAME.test(name));
  if (Array.isArray(template)) return template.flatMap(argumentFields);
  return isRecord(template) ? Object.values(template).flatMap(argumentFields) : [];
}

/** The arguments for an input; without a template, the input itself. */
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
