/** Tells whether a text is what a field may hold.   agentcli spec "Lexical classes" */
import type { Findings } from "./finding.ts";

// The patterns stand in messages, and are therefore part of the protocol.
const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const TOKEN = /^[A-Za-z0-9@:_./-]+$/;
const ENVIRONMENT_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
// Tab, line feed and carriage return are text.
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/** Their sources, for the JSON Schema. */
export const TEXT_PATTERNS: Readonly<
  Record<"identifier" | "token" | "environmentName" | "string", string>
> = {
  identifier: IDENTIFIER.source,
  token: "^[A-Za-z0-9@:_./-]+$",
  environmentName: ENVIRONMENT_NAME.source,
  string: "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f]*$",
};

/** A text that is not blank; whether it can be looked at further. */
export function checkString(
  findings: Findings,
  path: string,
  value: unknown,
  isRequired: boolean,
): value is string {
  if (value === undefined || value === null) {
    if (isRequired) findings.error(path, "is required");
    return false;
  }
  if (typeof value !== "string") {
    findings.error(path, "must be a string");
    return false;
  }
  if (value.trim() === "") {
    findings.error(path, "cannot be empty");
    return false;
  }
  if (hasControlCharacters(value)) {
    findings.error(path, "contains unsupported control characters");
  }
  return true;
}

/** The name of a workflow, a task or a profile. */
export function checkIdentifier(
  findings: Findings,
  path: string,
  value: unknown,
  isRequired: boolean,
): void {
  if (!checkString(findings, path, value, isRequired) || IDENTIFIER.test(value)) return;
  findings.error(path, `must match /${IDENTIFIER.source}/`);
}

/** The name of a program, a model, a channel. */
export function checkToken(
  findings: Findings,
  path: string,
  value: unknown,
  isRequired: boolean,
): void {
  if (!checkString(findings, path, value, isRequired) || TOKEN.test(value)) return;
  findings.error(path, "contains unsupported path or token characters");
}

/** The name of an environment variable. */
export function checkEnvironmentName(findings: Findings, path: string, name: string): void {
  if (!ENVIRONMENT_NAME.test(name)) {
    findings.error(path, `must match /${ENVIRONMENT_NAME.source}/`);
  }
}

/** A command for `sh -c`, which its block cannot do without. */
export function checkCommandLine(findings: Findings, path: string, value: unknown): void {
  if (typeof value !== "string" || value.trim() === "") {
    findings.error(path, "is required and must be a non-empty string");
  } else if (hasControlCharacters(value)) {
    findings.error(path, "contains unsupported control characters");
  }
}

/** Tells whether a text has octets that no terminal should see. */
function hasControlCharacters(text: string): boolean {
  return CONTROL.test(text);
}
