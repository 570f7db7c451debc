/**
 * The content type of a response to an HTTP client: bodies that AGTP calls its own JSON are
 * `application/json`, unless the client asks for the type by its name; other JSON keeps its type, and
 * gives it up for a client that takes plain JSON only. What is no JSON is sent as it is.
 * RFC 9110 §12.5.1
 */

const JSON_TYPE = "application/json";
/** JSON is UTF-8; some clients decode it as something else unless they are told. */
const JSON_UTF8 = `${JSON_TYPE}; charset=utf-8`;
const AGTP_JSON = /^application\/vnd\.agtp(?:\.[a-z0-9-]+)?\+json$/;
/** Documents that have a type of their own, which whoever gets them tells them by. */
const DOCUMENTS = /^application\/vnd\.agtp\.(?:manifest|identity|endpoint)\+json$/;

/** The content type to send for one that the pipeline gave a body. */
export function acceptedType(contentType: string, accept: string | undefined): string {
  const type = mediaType(contentType);
  if (type === JSON_TYPE) return JSON_UTF8;
  if (!type.endsWith("+json")) return contentType;
  const isOwn = AGTP_JSON.test(type) && !DOCUMENTS.test(type);
  const [first, second] = isOwn ? [JSON_TYPE, type] : [type, JSON_TYPE];
  if (accept === undefined) return named(first, contentType);
  const ranges = parseAccept(accept);
  const isSecondBetter = qualityOf(second, ranges) > qualityOf(first, ranges);
  return named(isSecondBetter ? second : first, contentType);
}

function named(type: string, contentType: string): string {
  return type === JSON_TYPE ? JSON_UTF8 : contentType;
}

function mediaType(contentType: string): string {
  const end = contentType.indexOf(";");
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

interface MediaRange {
  readonly type: string;
  readonly quality: number;
}

/** Browsers send seven; whoever sends more is not read to the end. */
const MAX_RANGES = 32;

function parseAccept(accept: string): readonly MediaRange[] {
  return accept
    .split(",", MAX_RANGES)
    .map((range) => ({ type: mediaType(range), quality: readQuality(range) }));
}

function readQuality(range: string): number {
  const [, digits] = /;\s*q=([01](?:\.\d{0,3})?)\s*(?:;|$)/i.exec(range) ?? [];
  return digits === undefined ? 1 : Number(digits);
}

/** The most specific range decides. */
function qualityOf(type: string, ranges: readonly MediaRange[]): number {
  const [group = ""] = type.split("/");
  for (const wanted of [type, `${group}/*`, "*/*"]) {
    const range = ranges.find((one) => one.type === wanted);
    if (range !== undefined) return range.quality;
  }
  return 0;
}
