/**
 * Arguments that are told in header fields as well, so that what stands between client and server can
 * route by them: properties of an input schema with `x-mcp-header`. Where both say something, they must
 * say the same.   MCP "Streamable HTTP" (Custom Headers)
 */
import { isRecord, type JsonRecord, valueAt } from "../../../base/json-value.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";

/** An argument with a header field of its own. */
export interface ParamHeader {
  /** Names of the properties that lead to it. */
  readonly path: readonly string[];
  /** As clients are told it, with the prefix. */
  readonly field: string;
  readonly isInteger: boolean;
}

const PREFIX = "Mcp-Param-";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
const MAX_DEPTH = 8;

/** The header fields of a tool. */
export function readParamHeaders(schema: JsonSchema): readonly ParamHeader[] {
  return headersIn(schema, []);
}

function headersIn({ properties }: JsonRecord, at: readonly string[]): readonly ParamHeader[] {
  if (!isRecord(properties) || at.length >= MAX_DEPTH) return [];
  return Object.entries(properties).flatMap(([name, property]) => {
    if (!isRecord(property)) return [];
    const path = [...at, name];
    const { type, "x-mcp-header": header } = property;
    const isTold = typeof header === "string" && TOKEN.test(header) && TYPES.has(type);
    const own = { path, field: `${PREFIX}${String(header)}`, isInteger: type === "integer" };
    return [...(isTold ? [own] : []), ...headersIn(property, path)];
  });
}

/** In what the fields and the arguments disagree; undefined: in nothing. */
export function disagreement(
  headers: readonly ParamHeader[],
  args: unknown,
  fieldOf: (name: string) => unknown,
): string | undefined {
  for (const header of headers) {
    const text = textOf(valueAt(args, header.path));
    if (text === undefined) continue;
    const field = fieldOf(header.field.toLowerCase());
    const name = header.path.join(".");
    if (typeof field !== "string") return `${header.field} is absent, and ${name} is not`;
    const told = decode(field);
    if (told === undefined) return `${header.field} is not encoded as it must be`;
    if (!isSame(told, text, header)) return `${header.field} says another thing than ${name}`;
  }
  return undefined;
}

function isSame(told: string, text: string, { isInteger }: ParamHeader): boolean {
  if (told === text) return true;
  return isInteger && /^-?\d+(?:\.\d+)?$/.test(told) && Number(told) === Number(text);
}

/** Other values are told in no field. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string" || typeof value === "boolean") return String(value);
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

const ENCODED = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/;

/** Values that cannot stand in a field are in base64; undefined: not in any that there is. */
function decode(field: string): string | undefined {
  if (!field.startsWith("=?base64?") || !field.endsWith("?=")) return field;
  const [, base64] = ENCODED.exec(field) ?? [];
  if (base64 === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(base64, "base64"));
  } catch {
    return undefined;
  }
}
