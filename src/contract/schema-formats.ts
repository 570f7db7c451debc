/**
 * The formats that schemas may name, each checked in time linear in the text. They are those of
 * JSON Schema 2020-12 and, for descriptions that come from OpenAPI, its own.
 */
import type { Format } from "ajv";
import { fullFormats } from "ajv-formats/dist/formats.js";

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const URL_SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "ftp:"]);

/** Formats by name. */
export const FORMATS: ReadonlyMap<string, Format> = new Map<string, Format>([
  ...Object.entries(fullFormats),
  // The package's own also takes `urn:uuid:…`, which is a URI and not the UUID in it.
  ["uuid", UUID],
  // The package's own backtracks quadratically on "http://::::…".
  ["url", isUrl],
  // Annotations: their full check needs tables of Unicode that nobody should have to load.
  ["idn-email", true],
  ["idn-hostname", true],
  ["iri", true],
  ["iri-reference", true],
]);

function isUrl(text: string): boolean {
  return !/\s/.test(text) && URL.canParse(text) && URL_SCHEMES.has(new URL(text).protocol);
}
