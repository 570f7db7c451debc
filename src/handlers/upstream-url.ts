/**
 * The URL of an external service: an https origin, and a path and query whose `{name}` parameters
 * are filled from the input, percent-encoded. A value can neither add, leave nor climb path
 * segments, not even at a server that treats an encoded slash as a slash; one that would is a
 * violation, answered with 422.   AGTP-API §12.3
 */
import { escapeToken } from "../base/dotted-key.ts";
import type { JsonRecord } from "../base/json-value.ts";
import { type TemplatePiece, templatePieces } from "../base/template.ts";
import { segmentFault } from "../endpoint/path-template.ts";
import type { ValueStyle } from "../endpoint/upstream-format.ts";
import type { SchemaViolation } from "../schema/schema.ts";

/** A parsed URL template. */
export interface UpstreamUrl {
  readonly origin: string;
  /** Names of the parameters, in order. */
  readonly parameters: readonly string[];
  /** The segments of the path. */
  readonly segments: readonly (readonly TemplatePiece[])[];
  /** The pieces after "?"; empty if there are none. */
  readonly query: readonly TemplatePiece[];
}

const URL_PARTS = /^(https:\/\/[^/?#]+)(\/[^?#]*)?(?:\?([^#]*))?$/i;

/** Parses a template; a returned string is its fault, without quoting what may be a secret. */
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

/** Checks that an input can fill the URL; undefined if there is no violation. */
export function checkUrlInput(url: UpstreamUrl, input: JsonRecord): SchemaViolation[] | undefined {
  const violations = url.parameters.flatMap((name) => checkValue(name, input));
  if (violations.length > 0) return violations;
  // A harmless value may complete a dot together with its neighbours, as "e" does in "%2{a}".
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

/** Returns true for a segment that consists of dots, also once a proxy decodes it. */
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
      // Commas between the values of a list are separators, so they stay literal.   RFC 6570 §3.2.2
      const parts = styles[piece.name] === "comma" ? text.split(",") : [text];
      return parts.map(encodeURIComponent).join(",");
    })
    .join("");
}
