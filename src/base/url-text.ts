/** URLs in texts of any length. */

/** DNS has names of 253 characters; escaped, each of them takes nine. */
const LONG_HOST = /^[\0-\x20]*(?:https?|ftp|wss?|file):[/\\]*[^/\\?#]{3000}/i;
const PASSED_OVER = /[\t\n\r]+/g;

/**
 * A URL of the WHATWG; undefined: the text is none, or its host is longer than any. `URL` takes time quadratic in
 * the length of a host that is not in ASCII: of a hundred thousand characters, ten seconds.
 */
export function parseUrl(text: string): URL | undefined {
  if (LONG_HOST.test(text.replace(PASSED_OVER, ""))) return undefined;
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** A URL without the slashes at its end. */
export function withoutEndSlashes(url: string): string {
  return url.replace(/(?<!\/)\/+$/, "");
}
