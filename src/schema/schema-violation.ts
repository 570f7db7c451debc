/**
 * The violation of a schema, as callers read it in a 422: a JSON Pointer to the offending value, or
 * to where the missing one should be, the keyword and a message.   AGTP-API §13.2
 */
import type { ErrorObject } from "ajv";
import { escapeToken } from "../base/dotted-key.ts";
import { clip, jsonText, textIn } from "../base/json-value.ts";
import { flatText } from "../base/kept-text.ts";

/** The fault that a validator finds, before it is put into words. */
export type SchemaError = Pick<
  ErrorObject,
  "keyword" | "instancePath" | "params" | "message" | "propertyName"
>;

export interface SchemaViolation {
  /** JSON Pointer to the offending member; "" is the whole value. */
  readonly path: string;
  readonly keyword: string;
  readonly message: string;
}

/** The names of members that stand-ins were put in the place of, in the value itself. */
export interface SentNames {
  /** Undefined: the member has the name that was sent. */
  sentName(member: string): string | undefined;
}

export type Wording = (error: SchemaError, sent?: SentNames) => SchemaViolation;

/** More say nothing new to whoever has to mend the input. */
const MAX_VIOLATIONS = 20;
/** A key may be as long as a body; twenty copies of it need not be in the answer. */
const MAX_PATH_LENGTH = 512;
const MAX_LISTED_LENGTH = 200;

/** At most twenty violations, in the order in which they were found. */
export function toViolations(
  errors: readonly SchemaError[],
  word: Wording,
  sent: SentNames | undefined,
): readonly SchemaViolation[] {
  const first = errors.length > MAX_VIOLATIONS ? errors.slice(0, MAX_VIOLATIONS) : errors;
  return first.map((error) => word(error, sent));
}

/** No name of a keyword needs an escape, nor does this. */
const UNDECLARED = "is not a member that the schema declares";
/** The rest of such a violation as JSON, and of an error that begins with it, behind the path: one piece each. */
const UNDECLARED_REST = `,"keyword":"additionalProperties","message":"${UNDECLARED}"}`;
const UNDECLARED_OPENING = ` ${UNDECLARED}","details":{"errors":[`;

/** A violation that knows how it is written. */
export class WordedViolation implements SchemaViolation {
  readonly path: string;
  readonly keyword: string;
  readonly message: string;
  /** It is kept for the next error of its kind. */
  #isKept = false;
  #text: string | undefined;
  #pathText: string | undefined;

  constructor(path: string, keyword: string, message: string) {
    this.path = path;
    this.keyword = keyword;
    this.message = message;
  }

  static keep(violation: WordedViolation): void {
    violation.#isKept = true;
  }

  static isKept(violation: SchemaViolation): boolean {
    return #isKept in violation && violation.#isKept;
  }

  static textOf(violation: SchemaViolation): string {
    if (!(#text in violation)) return JSON.stringify(violation);
    if (violation.#text !== undefined) return violation.#text;
    const { keyword, message } = violation;
    const rest =
      message === UNDECLARED && keyword === "additionalProperties"
        ? UNDECLARED_REST
        : `,"keyword":${jsonText(keyword)},"message":${jsonText(message)}}`;
    const text = `{"path":${violation.#pathAsJson}${rest}`;
    violation.#text = violation.#isKept ? flatText(text) : text;
    return text;
  }

  static sentenceOf({ path, message }: SchemaViolation): string {
    return `${path || "/"} ${message}`;
  }

  /** The members of an error as JSON, up to where the first of its violations begins. */
  static openingOf(violation: SchemaViolation): string {
    if (#text in violation && violation.path !== "" && violation.message === UNDECLARED) {
      const path = violation.#pathAsJson;
      const isPlain = path.length === violation.path.length + 2;
      const begun = isPlain ? `"message":"${violation.path}` : `"message":${path.slice(0, -1)}`;
      return begun + UNDECLARED_OPENING;
    }
    const sentence = jsonText(WordedViolation.sentenceOf(violation));
    return `"message":${sentence},"details":{"errors":[`;
  }

  get #pathAsJson(): string {
    this.#pathText ??= jsonText(this.path);
    return this.#pathText;
  }
}

/** The error in words. Equal errors make equal violations, whichever schema they are against. */
export function toViolation(error: SchemaError, sent?: SentNames): WordedViolation {
  const member = memberOf(error);
  return violationOf(error, sentNameOf(error, member, sent) ?? member);
}

/** The name by which a member of the value itself was sent, where another stands in its place. */
export function sentNameOf(
  { instancePath }: SchemaError,
  member: string | undefined,
  sent: SentNames | undefined,
): string | undefined {
  return member === undefined || instancePath !== "" ? undefined : sent?.sentName(member);
}

/** Words an error, about a member that has perhaps another name. */
export function violationOf(error: SchemaError, member: string | undefined): WordedViolation {
  const path = clip(pathOf(error, member), MAX_PATH_LENGTH);
  return new WordedViolation(path, error.keyword, messageOf(error));
}

/** The member that an error is about, where the validator only names it in the parameters. */
export function memberOf({ keyword, params, propertyName }: SchemaError): string | undefined {
  const member: unknown = namedMember(keyword, params) ?? propertyName;
  return textIn(member);
}

function namedMember(keyword: string, params: SchemaError["params"]): unknown {
  switch (keyword) {
    case "required":
    case "dependentRequired":
      return params["missingProperty"];
    case "additionalProperties":
      return params["additionalProperty"];
    case "unevaluatedProperties":
      return params["unevaluatedProperty"];
    case "propertyNames":
      return params["propertyName"];
    default:
      return undefined;
  }
}

function pathOf({ instancePath }: SchemaError, member: string | undefined): string {
  return member === undefined ? instancePath : `${instancePath}/${escapeToken(member)}`;
}

function messageOf({ keyword, params, message }: SchemaError): string {
  switch (keyword) {
    case "required":
      return "is required";
    case "additionalProperties":
    case "unevaluatedProperties":
      return UNDECLARED;
    case "enum":
      return `must be one of ${list(params["allowedValues"])}`;
    case "const":
      return `must be ${clip(JSON.stringify(params["allowedValue"]), MAX_LISTED_LENGTH)}`;
    case "type":
      return `must be ${typeNames(params["type"])}`;
    default:
      return (message ?? "is not valid").replaceAll("NOT", "not");
  }
}

function typeNames(type: unknown): string {
  return Array.isArray(type) ? type.join(" or ") : String(type);
}

function list(values: unknown): string {
  const texts = Array.isArray(values) ? values.map((value) => JSON.stringify(value)) : [];
  return clip(texts.join(", "), MAX_LISTED_LENGTH);
}

/** A value that is kept, and is not to be too much: a rule beyond the schema. */
export function checkOctets(
  path: string,
  value: unknown,
  most: number,
): readonly SchemaViolation[] {
  const octets = Buffer.byteLength(JSON.stringify(value) ?? "");
  if (octets <= most) return [];
  const message = `must be at most ${most} octets of JSON, has ${octets}`;
  return [{ path, keyword: "maxLength", message }];
}

/** The verdict on a value that is nested more deeply than a check can follow. */
export const TOO_DEEP: readonly SchemaViolation[] = [
  { path: "", keyword: "depth", message: "is nested too deeply" },
];
