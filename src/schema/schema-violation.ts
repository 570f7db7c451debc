/**
 * A violation of a schema in a 422: a JSON Pointer to the offending or missing value, the keyword
 * and a message.   AGTP-API §13.2
 */
import type { ErrorObject } from "ajv";
import { escapeToken } from "../base/dotted-key.ts";
import { clip, jsonText, textIn } from "../base/json-value.ts";
import { flatText } from "../base/kept-text.ts";

/** An error as a validator reports it, before it is worded. */
export type SchemaError = Pick<
  ErrorObject,
  "keyword" | "instancePath" | "params" | "message" | "propertyName"
>;

export interface SchemaViolation {
  /** The JSON Pointer of the offending member; "" for the whole value. */
  readonly path: string;
  readonly keyword: string;
  readonly message: string;
}

/** The sent names of members that were replaced by stand-ins in the top-level value. */
export interface SentNames {
  /** Returns the sent name of a member; undefined if it was not replaced. */
  sentName(member: string): string | undefined;
}

export type Wording = (error: SchemaError, sent?: SentNames) => SchemaViolation;

/** The maximum number of reported violations. */
const MAX_VIOLATIONS = 20;
/** The maximum length of a path, since a hostile key may be as long as a body. */
const MAX_PATH_LENGTH = 512;
const MAX_LISTED_LENGTH = 200;

/** Returns at most twenty violations, in the order found. */
export function toViolations(
  errors: readonly SchemaError[],
  word: Wording,
  sent: SentNames | undefined,
): readonly SchemaViolation[] {
  const first = errors.length > MAX_VIOLATIONS ? errors.slice(0, MAX_VIOLATIONS) : errors;
  return first.map((error) => word(error, sent));
}

/** Neither this message nor any keyword needs JSON escapes. */
const UNDECLARED = "is not a member that the schema declares";
/** The constant parts of such a violation as JSON, and of an error that starts with it. */
const UNDECLARED_REST = `,"keyword":"additionalProperties","message":"${UNDECLARED}"}`;
const UNDECLARED_OPENING = ` ${UNDECLARED}","details":{"errors":[`;

/** A violation that caches its JSON text. */
export class WordedViolation implements SchemaViolation {
  readonly path: string;
  readonly keyword: string;
  readonly message: string;
  /** True if it is cached for the next equal error. */
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

  /** Returns the start of an error's members as JSON, up to its first violation. */
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

/** Words an error. Equal errors give equal violations, whatever their schema. */
export function toViolation(error: SchemaError, sent?: SentNames): WordedViolation {
  const member = memberOf(error);
  return violationOf(error, sentNameOf(error, member, sent) ?? member);
}

/** Returns the sent name of a top-level member that has a stand-in. */
export function sentNameOf(
  { instancePath }: SchemaError,
  member: string | undefined,
  sent: SentNames | undefined,
): string | undefined {
  return member === undefined || instancePath !== "" ? undefined : sent?.sentName(member);
}

/** Words an error about a member, possibly under another name. */
export function violationOf(error: SchemaError, member: string | undefined): WordedViolation {
  const path = clip(pathOf(error, member), MAX_PATH_LENGTH);
  return new WordedViolation(path, error.keyword, messageOf(error));
}

/** Returns the member that an error is about, if the validator names it only in the parameters. */
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

/** Checks the size of a value that is stored, a rule beyond the schema. */
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

/** The violation of a value that is nested too deeply to be checked. */
export const TOO_DEEP: readonly SchemaViolation[] = [
  { path: "", keyword: "depth", message: "is nested too deeply" },
];
