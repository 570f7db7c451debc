/**
 * Checks a value against its field, and a block against its table; a text is of its field's lexical
 * class.   agentcli spec "Validation", "Lexical classes"
 */
import type { DocumentPlace } from "../../../base/document-place.ts";
import { isRecord } from "../../../base/json-value.ts";
import { reasonOf } from "../../../base/thrown.ts";
import type { Field, Fields } from "./field.ts";
import { FLAT_IDENTITY, isStructuredIdentity, STRUCTURED_IDENTITY } from "./identity-fields.ts";

// The patterns stand in messages, and are therefore part of the protocol.
const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const TOKEN = /^[A-Za-z0-9@:_./-]+$/;
const ENVIRONMENT_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
// Tab, line feed and carriage return are text.
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/** The sources of the patterns, for the JSON Schema. */
export const TEXT_PATTERNS: Readonly<
  Record<"identifier" | "token" | "environmentName" | "string", string>
> = {
  identifier: IDENTIFIER.source,
  token: "^[A-Za-z0-9@:_./-]+$",
  environmentName: ENVIRONMENT_NAME.source,
  string: "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f]*$",
};

/** Checks a text that is not blank. */
export function checkString(place: DocumentPlace, isRequired = false): string | undefined {
  const text = place.isAbsent && !isRequired ? undefined : place.text();
  if (text !== undefined) checkControls(place, text);
  return text;
}

/** Octets that no terminal should see. */
function checkControls(place: DocumentPlace, text: string): void {
  if (CONTROL.test(text)) place.fail("contains unsupported control characters");
}

/** Checks the fields of a block, in the order of their table. */
export function checkFields(block: DocumentPlace, fields: Fields): void {
  for (const [name, field] of Object.entries(fields)) checkField(block.at(name), field);
}

/** Checks one value; null counts as absent. */
export function checkField(place: DocumentPlace, field: Field): void {
  const { value } = place;
  switch (field.kind) {
    case "string":
      checkString(place, field.required);
      return;
    case "identifier":
      checkPattern(place, field.required, IDENTIFIER, `must match /${IDENTIFIER.source}/`);
      return;
    case "token":
      checkPattern(place, field.required, TOKEN, "contains unsupported path or token characters");
      return;
    case "enum":
      if (place.isAbsent) {
        if (field.required) place.fail("is required");
      } else if (typeof value !== "string" || !field.values.includes(value)) {
        place.fail(`must be one of: ${field.values.join(", ")}`);
      }
      return;
    case "command-line":
      if (typeof value === "string" && value.trim() !== "") checkControls(place, value);
      else place.fail("is required and must be a non-empty string");
      return;
    case "removed":
      if (value !== undefined) place.fail(field.message);
      return;
    default:
      if (!place.isAbsent) checkPresent(place, field);
  }
}

/** The name of a workflow, a task or a profile; a program, a model, a channel. */
function checkPattern(
  place: DocumentPlace,
  isRequired: boolean | undefined,
  pattern: RegExp,
  message: string,
): void {
  const text = checkString(place, isRequired);
  if (text !== undefined && !pattern.test(text)) place.fail(message);
}

type Plain = Exclude<
  Field,
  { kind: "string" | "identifier" | "token" | "enum" | "command-line" | "removed" }
>;

function checkPresent(place: DocumentPlace, field: Plain): void {
  const { value } = place;
  switch (field.kind) {
    case "text":
      if (typeof value !== "string") place.fail("must be a string");
      return;
    case "boolean":
      if (typeof value !== "boolean") place.fail("must be a boolean");
      return;
    case "integer":
      if (!Number.isInteger(value) || (value as number) < field.min) {
        place.fail(`must be an integer >= ${field.min}`);
      }
      return;
    case "number":
      if (typeof value !== "number" || value < field.min) {
        place.fail(`must be a number >= ${field.min}`);
      }
      return;
    case "condition":
      checkCondition(place);
      return;
    case "list":
      checkList(place, field.items);
      return;
  }
  if (place.record() === undefined) return;
  switch (field.kind) {
    case "map":
      return;
    case "block":
      checkFields(place, field.fields);
      return;
    case "environment":
      for (const name of place.names) checkVariable(place.at(name));
      return;
    case "source":
      checkSource(place, field.literal);
      return;
    case "identity":
      checkFields(place, isStructuredIdentity(place.members) ? STRUCTURED_IDENTITY : FLAT_IDENTITY);
  }
}

function checkVariable(place: DocumentPlace): void {
  if (!ENVIRONMENT_NAME.test(place.name)) place.fail(`must match /${ENVIRONMENT_NAME.source}/`);
  checkString(place, true);
}

function checkList(place: DocumentPlace, items: Field | undefined): void {
  const found = place.items() ?? [];
  if (items === undefined) return;
  for (const item of found) {
    if (items.kind === "block" && !isRecord(item.value)) item.record();
    else checkField(item, items);
  }
}

/** The engine's own words about a bad expression: it is compiled, and never run here. */
function checkCondition(place: DocumentPlace): void {
  const text = checkString(place, true);
  if (text === undefined) return;
  const [, kind, rest = ""] = /^(regex|contains):([\s\S]*)$/.exec(text) ?? [];
  if (kind === undefined) {
    place.fail("must start with contains: or regex:");
  } else if (rest.trim() === "") {
    place.fail(`${kind} trigger condition cannot be empty`);
  } else if (kind === "regex") {
    try {
      new RegExp(rest);
    } catch (error) {
      place.fail(`invalid regex: ${reasonOf(error)}`);
    }
  }
}

function checkSource(place: DocumentPlace, takesLiteral: boolean): void {
  const literal = place.at("literal");
  checkString(place.at("env"));
  checkString(place.at("file"));
  if (takesLiteral) checkString(literal);
  else if (!literal.isAbsent) literal.fail("is not supported here");
  checkString(place.at("command"));
  const names = ["env", "file", ...(takesLiteral ? ["literal"] : []), "command"];
  if (names.some((name) => place.has(name))) return;
  const expected = takesLiteral ? "env, file, literal, or command" : "env, file, or command";
  place.fail(`must include at least one of: ${expected}`);
}
