/**
 * What a schema cannot say of an input that becomes a request: values of the URL stay in their
 * segments, values of headers stay on their line, content is the base64 it says it is. A violation
 * is answered with 422.   AGTP-API §12.3
 */
import type { SchemaViolation } from "../contract/schema.ts";
import { PLAIN_ENCODING, type UpstreamEncoding } from "../contract/upstream-format.ts";
import { checkHeader } from "../contract/upstream-headers.ts";
import { headerText } from "./upstream-request.ts";
import { checkUrlInput, type UpstreamUrl } from "./upstream-url.ts";

type Input = Readonly<Record<string, unknown>>;

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** What stands in the way of asking the upstream; undefined when nothing does. */
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

function checkContent(
  { bodyFormat, bodyField }: UpstreamEncoding,
  input: Input,
): SchemaViolation[] {
  if (bodyFormat !== "binary" || bodyField === undefined) return [];
  const value = Object.hasOwn(input, bodyField) ? input[bodyField] : undefined;
  if (value === undefined || (typeof value === "string" && BASE64.test(value))) return [];
  return [{ path: pointerTo(bodyField), keyword: "contentEncoding", message: "must be base64" }];
}

function pointerTo(field: string): string {
  return `/${field.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
