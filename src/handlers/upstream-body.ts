/**
 * The body of a request to an external service, in the format that it reads: JSON, a form, parts, or
 * bytes as they are.   AGTP-API §12.3
 */
import { randomUUID } from "node:crypto";
import { isRecord, type JsonRecord } from "../base/json-value.ts";
import type { BodyFormat, ValueStyle } from "../endpoint/upstream-format.ts";
import { appendValue, textOf } from "./upstream-values.ts";

/** A body, and the type that it has unless the operator configured another one. */
export interface UpstreamBody {
  readonly content: string | Uint8Array | null;
  readonly contentType?: string;
}

const NO_BODY: UpstreamBody = { content: null };
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;
const OCTETS = "application/octet-stream";

/** Writes a body of fields; `styles` goes by their upstream names. */
export function encodeFields(
  fields: JsonRecord,
  format: BodyFormat,
  styles: ReadonlyMap<string, ValueStyle>,
): UpstreamBody {
  switch (format) {
    case "json":
      return encodeJson(fields);
    case "form":
      return encodeForm(fields, styles);
    case "multipart":
      return encodeParts(fields);
    case "text":
    case "binary":
      return NO_BODY;
  }
}

/** Writes a body that is one value; nothing when the input has none. */
export function encodeValue(
  value: unknown,
  format: BodyFormat,
  styles: ReadonlyMap<string, ValueStyle>,
): UpstreamBody {
  if (value === undefined) return NO_BODY;
  if (format === "binary") {
    return { content: Buffer.from(String(value), "base64"), contentType: OCTETS };
  }
  if (format === "text") return { content: textOf(value), contentType: "text/plain;charset=utf-8" };
  return format === "json" || !isRecord(value)
    ? encodeJson(value)
    : encodeFields(value, format, styles);
}

function encodeJson(value: unknown): UpstreamBody {
  return { content: JSON.stringify(value), contentType: "application/json" };
}

function encodeForm(fields: JsonRecord, styles: ReadonlyMap<string, ValueStyle>): UpstreamBody {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    appendValue(form, name, value, styles.get(name));
  }
  return { content: form.toString(), contentType: "application/x-www-form-urlencoded" };
}

/** RFC 7578. A value with a member `base64` is a file; a list is a part for each of its items. */
function encodeParts(fields: JsonRecord): UpstreamBody {
  // Nobody can put a boundary in a value that is drawn after the value is known.
  const boundary = `agtpd-${randomUUID()}`;
  const chunks: Uint8Array[] = [];
  for (const [name, value] of Object.entries(fields)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item === undefined || item === null) continue;
      const { head, content } = partOf(name, item);
      chunks.push(Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`), content, Buffer.from("\r\n"));
    }
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`));
  return {
    content: Buffer.concat(chunks),
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
}

function partOf(
  name: string,
  value: unknown,
): { readonly head: string; readonly content: Uint8Array } {
  const disposition = `Content-Disposition: form-data; name="${quotable(name)}"`;
  if (!isRecord(value)) return { head: disposition, content: Buffer.from(textOf(value)) };
  const { base64, filename, media_type: mediaType } = value;
  if (typeof base64 !== "string") {
    const head = `${disposition}\r\nContent-Type: application/json`;
    return { head, content: Buffer.from(JSON.stringify(value)) };
  }
  const file = quotable(typeof filename === "string" ? filename : name);
  const type = typeof mediaType === "string" && MEDIA_TYPE.test(mediaType) ? mediaType : OCTETS;
  return {
    head: `${disposition}; filename="${file}"\r\nContent-Type: ${type}`,
    content: Buffer.from(base64, "base64"),
  };
}

/** As browsers write names: nothing in them ends the quotes or the line. */
function quotable(text: string): string {
  return text.replace(/["\r\n]/g, encodeURIComponent);
}
