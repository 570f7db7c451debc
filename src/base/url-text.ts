/** Parses URLs in texts of any length. */

/** A host longer than any DNS name: 253 characters, of up to nine each when escaped. */
const LONG_HOST = /^[\0-\x20]*(?:https?|ftp|wss?|file):[/\\]*[^/\\?#]{3000}/i;
const PASSED_OVER = /[\t\n\r]+/g;

/**
 * Parses a WHATWG URL; undefined if it is invalid or its host is too long. `URL` takes quadratic
 * time for a host beyond ASCII: ten seconds for a hundred thousand characters.
 */
export function parseUrl(text: string): URL | undefined {
  if (LONG_HOST.test(text.replace(PASSED_OVER, ""))) return undefined;
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** Removes the slashes at the end of a URL. */
export function withoutEndSlashes(url: string): string {
  return url.replace(/(?<!\/)\/+$/, "");
}
