/** The keywords that check a value by itself: its type, listed values, numbers and texts. */

import { listIn } from "../base/json-value.ts";
import type { Judge, JudgeMaker, Judgement } from "./judgement.ts";
import {
  compileFormatTest,
  compileMembership,
  FORMATS,
  isMultipleOf,
} from "./keywords-and-formats.ts";
import type { LinearRegex } from "./linear-regex.ts";
import { testMetered, weigh } from "./work-meter.ts";

/** The keywords, in the order in which they are checked. */
export const SCALAR_MAKERS: readonly (readonly [string, JudgeMaker])[] = [
  ["enum", (values) => membership(values, "enum", { allowedValues: values })],
  ["const", (value) => membership([value], "const", { allowedValue: value })],
  ["minimum", (limit) => comparison("minimum", ">=", limit, (value, least) => value >= least)],
  ["maximum", (limit) => comparison("maximum", "<=", limit, (value, most) => value <= most)],
  [
    "exclusiveMinimum",
    (limit) => comparison("exclusiveMinimum", ">", limit, (value, least) => value > least),
  ],
  [
    "exclusiveMaximum",
    (limit) => comparison("exclusiveMaximum", "<", limit, (value, most) => value < most),
  ],
  ["multipleOf", (factor) => multiple(Number(factor))],
  ["minLength", (limit) => shortest(Number(limit))],
  ["maxLength", (limit) => longest(Number(limit))],
  ["pattern", (source, { regexOf }) => matching(String(source), regexOf(String(source)))],
  ["format", (name) => formatted(String(name))],
];

/** `type`, which is checked first: for a value of another type nothing else is reported. */
export function judgeType(type: unknown): Judge {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  return (value, at) => types.some((one) => isOfType(value, one)) || at.fail("type", "", { type });
}

function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function membership(
  values: unknown,
  keyword: string,
  params: Readonly<Record<string, unknown>>,
): Judge {
  const listed = listIn(values);
  const isMember = compileMembership(listed);
  const hasStructures = listed.some((one) => typeof one === "object" && one !== null);
  return (value, at) => {
    if (hasStructures) weigh(value, at.meter);
    return isMember(value) || at.fail(keyword, "", params);
  };
}

function comparison(
  keyword: string,
  sign: string,
  limit: unknown,
  holds: (value: number, limit: number) => boolean,
): Judge {
  const bound = Number(limit);
  return (value, at) =>
    typeof value !== "number" ||
    holds(value, bound) ||
    at.fail(keyword, `must be ${sign} ${bound}`);
}

function multiple(factor: number): Judge {
  return (value, at) =>
    typeof value !== "number" ||
    isMultipleOf(value, factor) ||
    at.fail("multipleOf", `must be multiple of ${factor}`);
}

function shortest(limit: number): Judge {
  const message = `must not have fewer than ${limit} characters`;
  return (value, at) =>
    typeof value !== "string" ||
    (value.length >= limit && countCharacters(value, at, limit) >= limit) ||
    at.fail("minLength", message);
}

function longest(limit: number): Judge {
  const message = `must not have more than ${limit} characters`;
  return (value, at) =>
    typeof value !== "string" ||
    value.length <= limit ||
    countCharacters(value, at, limit + 1) <= limit ||
    at.fail("maxLength", message);
}

/** Counts code points up to `enough`; a text has at least half as many as code units. */
function countCharacters(text: string, at: Judgement, enough: number): number {
  if (text.length >= 2 * enough) return enough;
  at.spend(text.length);
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function matching(source: string, regex: LinearRegex): Judge {
  const message = `must match pattern "${source}"`;
  return (value, at) =>
    typeof value !== "string" || testMetered(regex, value, at.meter) || at.fail("pattern", message);
}

function formatted(name: string): Judge | undefined {
  const definition = FORMATS.get(name);
  const test = definition === undefined ? undefined : compileFormatTest(definition);
  if (test === undefined) return undefined;
  const message = `must match format "${name}"`;
  return (value, at) => {
    if (typeof value === "string") at.spend(value.length);
    return test(value) || at.fail("format", message);
  };
}
