/**
 * Checks a value against its field, and a block against its table; texts are checked by lexical class.   agentcli spec
 * "Validation", "Lexical classes"
 */
import type { DocumentPlace } from "../../../base/document-place.ts";
import { isRecord } from "../../../base/json-value.ts";
import { reasonOf } from "../../../base/thrown.ts";
import { BLOCKS, type Field, type Fields } from "./fields.ts";
import { fieldsOf, isRequired, isStructuredIdentity, TRUST_LEVEL } from "./tables.ts";

// Messages quote these patterns, which makes them part of the protocol.
const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const TOKEN = /^[A-Za-z0-9@:_./-]+$/;
const ENVIRONMENT_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const FILE_PREFIX = /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/;
// Tab, line feed and carriage return are allowed.
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/** The patterns' sources for the JSON Schema. */
export const TEXT_PATTERNS: Readonly<
  Record<"identifier" | "token" | "environmentName" | "filePrefix" | "string", string>
> = {
  identifier: IDENTIFIER.source,
  token: TOKEN.source,
  environmentName: ENVIRONMENT_NAME.source,
  filePrefix: FILE_PREFIX.source,
  string: "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f]*$",
};

/** Checks a non-blank text. */
export function checkString(place: DocumentPlace, mustBeThere = false): string | undefined {
  const text = place.isAbsent && !mustBeThere ? undefined : place.text();
  if (text !== undefined) checkControls(place, text);
  return text;
}

/** Control characters could take over a terminal. */
function checkControls(place: DocumentPlace, text: string): void {
  if (CONTROL.test(text)) place.fail("contains unsupported control characters");
}

/** Checks the fields of a block in table order. */
export function checkFields(block: DocumentPlace, fields: Fields): void {
  for (const [name, field] of Object.entries(fields)) checkField(block.at(name), field);
}

/** Checks one value; null counts as absent. */
export function checkField(place: DocumentPlace, field: Field): void {
  const { value } = place;
  if (typeof field === "string") checkWord(place, field);
  else if ("removed" in field) {
    if (value !== undefined) place.fail(field.removed);
  } else if (place.isAbsent) {
    if (isRequired(field)) place.fail("is required");
  } else if ("among" in field) {
    if (typeof value !== "string" || !field.among.includes(value)) {
      place.fail(`must be one of: ${field.among.join(", ")}`);
    }
  } else if ("integer" in field) {
    if (!Number.isInteger(value) || (value as number) < field.integer) {
      place.fail(`must be an integer >= ${field.integer}`);
    }
  } else if ("number" in field) {
    if (typeof value !== "number" || value < field.number) {
      place.fail(`must be a number >= ${field.number}`);
    }
  } else if ("list" in field) checkList(place, field.list);
  else if ("type" in field) checkPresent(place, field.type);
  else checkBlock(place, field);
}

type Word = Extract<Field, string>;

function checkWord(place: DocumentPlace, word: Word): void {
  const { value } = place;
  switch (word) {
    case "string":
    case "string!":
      checkString(place, isRequired(word));
      return;
    case "identifier":
    case "identifier!":
      checkPattern(place, word, IDENTIFIER, `must match /${IDENTIFIER.source}/`);
      return;
    case "token":
    case "token!":
      checkPattern(place, word, TOKEN, "contains unsupported path or token characters");
      return;
    case "variable":
      checkPattern(place, word, ENVIRONMENT_NAME, "must be a valid environment variable name");
      return;
    case "file prefix":
      checkPattern(place, word, FILE_PREFIX, "must be a safe file prefix of at most 80 characters");
      return;
    case "trust level":
      checkField(place, TRUST_LEVEL);
      return;
    case "command line":
      if (typeof value === "string" && value.trim() !== "") checkControls(place, value);
      else place.fail("is required and must be a non-empty string");
      return;
    default:
      if (!place.isAbsent) checkPresent(place, word);
  }
}

/** Checks a name, such as of a workflow, task, profile, program, model, channel or variable. */
function checkPattern(place: DocumentPlace, word: Word, pattern: RegExp, message: string): void {
  const text = checkString(place, isRequired(word));
  if (text !== undefined && !pattern.test(text)) place.fail(message);
}

function checkPresent(place: DocumentPlace, word: Word): void {
  switch (word) {
    case "text":
      if (typeof place.value !== "string") place.fail("must be a string");
      return;
    case "boolean":
      if (typeof place.value !== "boolean") place.fail("must be a boolean");
      return;
    case "condition":
      checkCondition(place);
      return;
    case "list":
      place.items();
      return;
    default:
      checkBlock(place, word);
  }
}

function checkBlock(place: DocumentPlace, field: Field): void {
  if (place.record() === undefined) return;
  switch (field) {
    case "environment":
      for (const name of place.names) checkVariable(place.at(name));
      return;
    case "source":
    case "source or literal":
      checkSource(place, field === "source or literal");
      return;
    case "identity": {
      const isStructured = isStructuredIdentity(place.members);
      checkFields(place, isStructured ? BLOCKS.structured_identity : BLOCKS.flat_identity);
      return;
    }
    default:
      checkFields(place, fieldsOf(field) ?? {});
  }
}

function checkVariable(place: DocumentPlace): void {
  if (!ENVIRONMENT_NAME.test(place.name)) place.fail(`must match /${ENVIRONMENT_NAME.source}/`);
  checkString(place, true);
}

function checkList(place: DocumentPlace, items: Field): void {
  for (const item of place.items() ?? []) {
    if (fieldsOf(items) !== undefined && !isRecord(item.value)) item.record();
    else checkField(item, items);
  }
}

/** Compiles a condition without running it, and reports the engine's own message. */
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
