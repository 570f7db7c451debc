/** Tells whether a text is what a field may hold.   agentcli spec "Lexical classes" */
import type { DocumentPlace } from "../../../base/document-place.ts";

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

/** A text that is not blank; undefined where there is none. */
export function checkString(place: DocumentPlace, isRequired: boolean): string | undefined {
  const text = place.isAbsent && !isRequired ? undefined : place.text();
  if (text !== undefined) checkControls(place, text);
  return text;
}

/** The name of a workflow, a task or a profile. */
export function checkIdentifier(place: DocumentPlace, isRequired: boolean): void {
  const text = checkString(place, isRequired);
  if (text === undefined || IDENTIFIER.test(text)) return;
  place.fail(`must match /${IDENTIFIER.source}/`);
}

/** The name of a program, a model, a channel. */
export function checkToken(place: DocumentPlace, isRequired: boolean): void {
  const text = checkString(place, isRequired);
  if (text === undefined || TOKEN.test(text)) return;
  place.fail("contains unsupported path or token characters");
}

/** A member that is named as an environment variable. */
export function checkEnvironmentName(place: DocumentPlace): void {
  if (!ENVIRONMENT_NAME.test(place.name)) place.fail(`must match /${ENVIRONMENT_NAME.source}/`);
}

/** A command for `sh -c`, which its block cannot do without. */
export function checkCommandLine(place: DocumentPlace): void {
  const { value } = place;
  if (typeof value === "string" && value.trim() !== "") checkControls(place, value);
  else place.fail("is required and must be a non-empty string");
}

/** Octets that no terminal should see. */
function checkControls(place: DocumentPlace, text: string): void {
  if (CONTROL.test(text)) place.fail("contains unsupported control characters");
}
