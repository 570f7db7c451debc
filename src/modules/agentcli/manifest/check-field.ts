/** Checks a value against its field, and a block against its table.   agentcli spec "Validation" */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { reasonOf } from "../../../base/thrown.ts";
import {
  checkCommandLine,
  checkEnvironmentName,
  checkIdentifier,
  checkString,
  checkToken,
} from "./check-text.ts";
import type { Field, Fields } from "./field.ts";
import type { Findings } from "./finding.ts";
import { FLAT_IDENTITY, isStructuredIdentity, STRUCTURED_IDENTITY } from "./identity-fields.ts";

/** Checks the fields of a block, in the order of their table. */
export function checkFields(
  findings: Findings,
  path: string,
  value: JsonRecord,
  fields: Fields,
): void {
  for (const [name, field] of Object.entries(fields)) {
    checkField(findings, `${path}.${name}`, value[name], field);
  }
}

/** Checks one value; null counts as absent. */
export function checkField(findings: Findings, path: string, value: unknown, field: Field): void {
  switch (field.kind) {
    case "string":
      checkString(findings, path, value, field.required ?? false);
      return;
    case "identifier":
      checkIdentifier(findings, path, value, field.required ?? false);
      return;
    case "token":
      checkToken(findings, path, value, field.required ?? false);
      return;
    case "enum":
      checkEnum(findings, path, value, field);
      return;
    case "command-line":
      checkCommandLine(findings, path, value);
      return;
    case "removed":
      if (value !== undefined) findings.error(path, field.message);
      return;
    default:
      if (value !== undefined && value !== null) checkPresent(findings, path, value, field);
  }
}

type Plain = Exclude<
  Field,
  { kind: "string" | "identifier" | "token" | "enum" | "command-line" | "removed" }
>;

function checkPresent(findings: Findings, path: string, value: unknown, field: Plain): void {
  switch (field.kind) {
    case "text":
      if (typeof value !== "string") findings.error(path, "must be a string");
      return;
    case "boolean":
      if (typeof value !== "boolean") findings.error(path, "must be a boolean");
      return;
    case "integer":
      if (!Number.isInteger(value) || (value as number) < field.min) {
        findings.error(path, `must be an integer >= ${field.min}`);
      }
      return;
    case "number":
      if (typeof value !== "number" || value < field.min) {
        findings.error(path, `must be a number >= ${field.min}`);
      }
      return;
    case "condition":
      checkCondition(findings, path, value);
      return;
    case "list":
      checkList(findings, path, value, field.items);
      return;
    case "block":
    case "map":
    case "environment":
    case "source":
    case "identity":
      if (!isRecord(value)) findings.error(path, "must be an object");
      else checkObject(findings, path, value, field);
  }
}

function checkObject(
  findings: Findings,
  path: string,
  value: JsonRecord,
  field: Extract<Field, { kind: "block" | "map" | "environment" | "source" | "identity" }>,
): void {
  switch (field.kind) {
    case "map":
      return;
    case "block":
      checkFields(findings, path, value, field.fields);
      return;
    case "environment":
      for (const [name, text] of Object.entries(value)) {
        checkEnvironmentName(findings, `${path}.${name}`, name);
        checkString(findings, `${path}.${name}`, text, true);
      }
      return;
    case "source":
      checkSource(findings, path, value, field.literal);
      return;
    case "identity": {
      const fields = isStructuredIdentity(value) ? STRUCTURED_IDENTITY : FLAT_IDENTITY;
      checkFields(findings, path, value, fields);
    }
  }
}

function checkEnum(
  findings: Findings,
  path: string,
  value: unknown,
  { values, required = false }: Extract<Field, { kind: "enum" }>,
): void {
  if (value === undefined || value === null) {
    if (required) findings.error(path, "is required");
  } else if (typeof value !== "string" || !values.includes(value)) {
    findings.error(path, `must be one of: ${values.join(", ")}`);
  }
}

function checkList(
  findings: Findings,
  path: string,
  value: unknown,
  items: Field | undefined,
): void {
  if (!Array.isArray(value)) {
    findings.error(path, "must be an array");
    return;
  }
  if (items === undefined) return;
  for (const [index, item] of value.entries()) {
    const place = `${path}[${index}]`;
    if (items.kind === "block" && !isRecord(item)) findings.error(place, "must be an object");
    else checkField(findings, place, item, items);
  }
}

/** The engine's own words about a bad expression: it is compiled, and never run here. */
function checkCondition(findings: Findings, path: string, value: unknown): void {
  if (!checkString(findings, path, value, true)) return;
  const [, kind, rest = ""] = /^(regex|contains):([\s\S]*)$/.exec(value) ?? [];
  if (kind === undefined) {
    findings.error(path, "must start with contains: or regex:");
  } else if (rest.trim() === "") {
    findings.error(path, `${kind} trigger condition cannot be empty`);
  } else if (kind === "regex") {
    try {
      new RegExp(rest);
    } catch (error) {
      findings.error(path, `invalid regex: ${reasonOf(error)}`);
    }
  }
}

function checkSource(findings: Findings, path: string, value: JsonRecord, literal: boolean): void {
  checkString(findings, `${path}.env`, value["env"], false);
  checkString(findings, `${path}.file`, value["file"], false);
  const written = value["literal"];
  const hasLiteral = written !== undefined && written !== null;
  if (literal) checkString(findings, `${path}.literal`, written, false);
  else if (hasLiteral) findings.error(`${path}.literal`, "is not supported here");
  checkString(findings, `${path}.command`, value["command"], false);
  const hasSource =
    ["env", "file", "command"].some((key) => (value[key] ?? null) !== null) ||
    (literal && hasLiteral);
  if (hasSource) return;
  const expected = literal ? "env, file, literal, or command" : "env, file, or command";
  findings.error(path, `must include at least one of: ${expected}`);
}
