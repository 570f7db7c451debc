/** Media types of bodies, and which of those that an operation offers is used. */
import { isRecord, type JsonRecord, recordIn } from "../base/json-value.ts";

/** The kind of content that a media type is. */
type ContentKind = "json" | "form" | "multipart" | "text" | "binary";

/** One entry of `content`. */
export interface Content {
  /** Lower case, without parameters. */
  readonly mediaType: string;
  readonly kind: ContentKind;
  /** The media type object. */
  readonly raw: JsonRecord;
}

const ORDER: readonly ContentKind[] = ["json", "form", "multipart", "text", "binary"];

/** The entries of a `content` map, those that say most of their values first. */
export function contentsOf(content: unknown): readonly Content[] {
  if (!isRecord(content)) return [];
  return Object.entries(content)
    .map(([name, raw]): Content => {
      const mediaType = (name.split(";", 1)[0] ?? "").trim().toLowerCase();
      return { mediaType, kind: kindOf(mediaType), raw: recordIn(raw) };
    })
    .toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
}

function kindOf(mediaType: string): ContentKind {
  if (/^(?:application\/json|\*\/\*|application\/\*)$|[/+.]json$/.test(mediaType)) return "json";
  if (mediaType === "application/x-www-form-urlencoded") return "form";
  if (mediaType.startsWith("multipart/")) return "multipart";
  return /^text\/|[/+]xml$|[/+]yaml$/.test(mediaType) ? "text" : "binary";
}
