/**
 * Checks what a schema cannot say of an input that becomes a request: values of the URL stay in
 * their segments, values of headers stay on their line, content is the base64 it says it is. A
 * violation is answered with 422.   AGTP-API §12.3
 */

import { escapeToken } from "../base/json-pointer.ts";
import { isRecord } from "../base/json-value.ts";
import { PLAIN_ENCODING, type UpstreamEncoding } from "../endpoint/upstream-format.ts";
import { checkHeader } from "../endpoint/upstream-headers.ts";
import type { SchemaViolation } from "../schema/schema.ts";
import { headerText } from "./upstream-request.ts";
import { checkUrlInput, type UpstreamUrl } from "./upstream-url.ts";

type Input = Readonly<Record<string, unknown>>;

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Finds what keeps an input from being sent to the upstream; undefined when nothing does. */
export function checkUpstreamInput(
  url: UpstreamUrl,
  encoding: UpstreamEncoding | undefined,
  input: Input,
): readonly SchemaViolation[] | undefined {
  const written = encoding ?? PLAIN_ENCODING;
  const violations = [
    ...(checkUrlInput(url, input) ?? []),
    ...checkHeaderFields(written, input),
    ...checkContent(written, input),
  ];
  return violations.length === 0 ? undefined : violations;
}

function checkHeaderFields({ headerFields }: UpstreamEncoding, input: Input): SchemaViolation[] {
  return Object.entries(headerFields).flatMap(([field, name]) => {
    const value = Object.hasOwn(input, field) ? input[field] : undefined;
    if (value === undefined || value === null) return [];
    if (checkHeader(name, headerText(value)) === undefined) return [];
    const message = "must be text of one line that a header can carry";
    return [{ path: pointerTo(field), keyword: "format", message }];
  });
}

/** Checks base64, since other text would be decoded to something else and sent all the same. */
function checkContent(
  { bodyFormat, bodyField }: UpstreamEncoding,
  input: Input,
): SchemaViolation[] {
  const pointer = bodyField === undefined ? "" : pointerTo(bodyField);
  const isThere = bodyField === undefined || Object.hasOwn(input, bodyField);
  const value: unknown = bodyField === undefined ? input : isThere ? input[bodyField] : undefined;
  if (bodyFormat === "multipart") return isRecord(value) ? checkParts(value, pointer) : [];
  if (bodyFormat !== "binary" || bodyField === undefined) return [];
  return value === undefined || isBase64(value) ? [] : [notBase64(pointer)];
}

/** The files among the parts, or lists of parts. */
function checkParts(parts: Input, pointer: string): SchemaViolation[] {
  return Object.entries(parts).flatMap(([name, value]) => {
    const here = `${pointer}${pointerTo(name)}`;
    const items: readonly (readonly [string, unknown])[] = Array.isArray(value)
      ? value.map((item, index) => [`${here}/${index}`, item])
      : [[here, value]];
    return items.flatMap(([path, item]) =>
      isRecord(item) && typeof item["base64"] === "string" && !isBase64(item["base64"])
        ? [notBase64(`${path}/base64`)]
        : [],
    );
  });
}

function isBase64(value: unknown): boolean {
  if (typeof value !== "string" || !BASE64.test(value)) return false;
  // One character alone is less than an octet.
  return value.replace(/=+$/, "").length % 4 !== 1;
}

function notBase64(path: string): SchemaViolation {
  return { path, keyword: "contentEncoding", message: "must be base64" };
}

function pointerTo(field: string): string {
  return `/${escapeToken(field)}`;
}
