/**
 * The URL of an external service: an https origin, and a path and query whose `{name}` parameters
 * are filled from the input, percent-encoded. A value cannot add, leave or climb path segments, nor
 * climb at a server that takes an encoded slash for a slash; one that would try is a violation,
 * answered with 422.   AGTP-API §12.3
 */
import { escapeToken } from "../base/dotted-key.ts";
import type { JsonRecord } from "../base/json-value.ts";
import { type TemplatePiece, templatePieces } from "../base/template.ts";
import { segmentFault } from "../endpoint/path-template.ts";
import type { ValueStyle } from "../endpoint/upstream-format.ts";
import type { SchemaViolation } from "../schema/schema.ts";

/** A URL template taken apart. */
export interface UpstreamUrl {
  readonly origin: string;
  /** Names of the parameters, in order. */
  readonly parameters: readonly string[];
  /** The path between its slashes. */
  readonly segments: readonly (readonly TemplatePiece[])[];
  /** The pieces behind "?"; empty without one. */
  readonly query: readonly TemplatePiece[];
}

const URL_PARTS = /^(https:\/\/[^/?#]+)(\/[^?#]*)?(?:\?([^#]*))?$/i;

/** Takes a template apart; a string says what is wrong, without quoting what may be a secret. */
export function parseUpstreamUrl(url: string): UpstreamUrl | string {
  const [, head, path = "/", query = ""] = URL_PARTS.exec(url) ?? [];
  if (head === undefined) return "must be an https URL without a fragment";
  if (/[{}]/.test(head)) return "must have a fixed host, parameters belong in the path";
  if (!URL.canParse(head)) return "must have a valid host";
  const { origin, username, password } = new URL(head);
  if (username !== "" || password !== "") return "must hold no user name or password";
  const segments = path.slice(1).split("/").map(parsePieces);
  const pieces = [...segments.flat(), ...parsePieces(query)];
  if (pieces.some((piece) => piece.kind === "literal" && /[{}]/.test(piece.text))) {
    return "must have its braces around names, as in {name}";
  }
  if (segments.some((segment) => climbs(segment.map(literalText).join("")))) {
    return 'must have no "." or ".." segment';
  }
  const names = pieces.flatMap((piece) => (piece.kind === "parameter" ? [piece.name] : []));
  return { origin, parameters: [...new Set(names)], segments, query: parsePieces(query) };
}

function parsePieces(text: string): TemplatePiece[] {
  return templatePieces(text.replace(/[^\x21-\x7e]/gu, encodeURIComponent));
}

function literalText(piece: TemplatePiece): string {
  return piece.kind === "literal" ? piece.text : `{${piece.name}}`;
}

/** Finds what keeps an input from filling the URL; undefined when nothing does. */
export function checkUrlInput(url: UpstreamUrl, input: JsonRecord): SchemaViolation[] | undefined {
  const violations = url.parameters.flatMap((name) => checkValue(name, input));
  if (violations.length > 0) return violations;
  // A value may be harmless and yet make a dot with what stands beside it, as "e" does in "%2{a}".
  const climbing = url.segments.find((pieces) => climbs(fill(pieces, input)));
  if (climbing === undefined) return undefined;
  return climbing.flatMap((piece) =>
    piece.kind === "parameter" ? [violation(piece.name, "not", 'must not make "." or ".."')] : [],
  );
}

function checkValue(name: string, input: JsonRecord): SchemaViolation[] {
  if (!Object.hasOwn(input, name)) {
    return [violation(name, "required", "is required, it is part of the upstream's URL")];
  }
  const fault = segmentFault(input[name]);
  return fault === undefined ? [] : [violation(name, fault.keyword, fault.message)];
}

function violation(name: string, keyword: string, message: string): SchemaViolation {
  return { path: `/${escapeToken(name)}`, keyword, message };
}

/** Tells whether dots stand alone in a segment, also where a proxy decodes it before it resolves them. */
function climbs(segment: string): boolean {
  return /(?:^|\\|%5c|%2f)(?:\.|%2e){1,2}(?:\\|%5c|%2f|$)/i.test(segment);
}

type Styles = Readonly<Record<string, ValueStyle>>;

/** The path with its query, filled from an input that `checkUrlInput` accepts. */
export function fillUrl(url: UpstreamUrl, input: JsonRecord, styles: Styles): string {
  const path = `/${url.segments.map((pieces) => fill(pieces, input, styles)).join("/")}`;
  return url.query.length === 0 ? path : `${path}?${fill(url.query, input, styles)}`;
}

function fill(pieces: readonly TemplatePiece[], input: JsonRecord, styles: Styles = {}): string {
  return pieces
    .map((piece) => {
      if (piece.kind === "literal") return piece.text;
      const text = String(input[piece.name]);
      // A comma between the values of a list is there to separate them.   RFC 6570 §3.2.2
      const parts = styles[piece.name] === "comma" ? text.split(",") : [text];
      return parts.map(encodeURIComponent).join(",");
    })
    .join("");
}
