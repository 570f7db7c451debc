/**
 * Helpers for the JSON Schema of the configuration, so that a key, its default and its description
 * stand on one line. Two annotations are our own: `expected` describes what a pattern accepts, and
 * `isPath` marks paths, which are resolved against the file's directory. `writeOnly` marks secrets,
 * which no message quotes.
 */
import { MAX_TIMER_MS } from "../base/deadline.ts";

/** A JSON Schema, or a part of one. */
export type Schema = Readonly<Record<string, unknown>>;

export type Properties = Readonly<Record<string, Schema>>;

/** A key without a default, which is absent if the operator omits it. */
export function optional(schema: Schema): Schema {
  const { default: _, ...rest } = schema;
  return rest;
}

/** A text without control characters. */
export function text(value: string, description: string, more: Schema = {}): Schema {
  return {
    type: "string",
    default: value,
    description,
    maxLength: 4096,
    pattern: "^[^\\u0000-\\u001f\\u007f]+$",
    expected: "a text that is not empty and has no control characters",
    ...more,
  };
}

/** A file or directory, relative to the directory of the configuration file. */
export function path(value: string, description: string): Schema {
  return text(value, description, { pattern: "^[^\\u0000]+$", expected: "a path", isPath: true });
}

/** An integer; `least` is 1 by default. */
export function count(value: number, description: string, most: number, least = 1): Schema {
  return { type: "integer", default: value, description, minimum: least, maximum: most };
}

/** A duration in milliseconds. */
export function milliseconds(value: number, description: string, least = 1): Schema {
  return count(value, description, MAX_TIMER_MS, least);
}

/** A duration in seconds, up to ten years. */
export function seconds(value: number, description: string): Schema {
  return count(value, description, 315_360_000);
}

/** A TCP port. */
export function port(value: number): Schema {
  return count(value, "TCP port to listen on; 0 takes any free one", 65_535, 0);
}

/** true or false. */
export function flag(value: boolean, description: string): Schema {
  return { type: "boolean", default: value, description };
}

/** One of some words or numbers. */
export function choice(
  value: string | number,
  among: readonly (string | number)[],
  description: string,
): Schema {
  return { type: typeof value, enum: among, default: value, description };
}

/** A list, empty by default. */
export function list(items: Schema, description: string): Schema {
  return { type: "array", items: optional(items), default: [], description, maxItems: 10_000 };
}

/** A table with known keys; if absent, it is filled with their defaults. */
export function table(
  description: string,
  properties: Properties,
  required: readonly string[] = [],
): Schema {
  return {
    type: "object",
    default: {},
    description,
    properties,
    required,
    additionalProperties: false,
  };
}

/** A table whose keys the operator chooses. */
export function map(keys: Schema, values: Schema, description: string): Schema {
  return {
    type: "object",
    default: {},
    description,
    propertyNames: optional(keys),
    additionalProperties: optional(values),
  };
}

/** One of some words, the first being the default, or a list. */
export function wordOrList(words: readonly string[], items: Schema, description: string): Schema {
  const quoted = words.map((one) => JSON.stringify(one)).join(", ");
  return {
    default: words[0],
    description,
    if: { type: "array" },
    // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword
    then: { type: "array", items: optional(items), maxItems: 10_000 },
    else: { enum: words, expected: `${quoted} or a list` },
  };
}

/** A text that matches a pattern; `expected` describes it. */
export function word(
  value: string,
  matches: string,
  expected: string,
  description: string,
): Schema {
  return text(value, description, { pattern: matches, expected });
}

/** A method name of AGTP-API §3.2: three to thirty-two upper-case ASCII letters. */
export function methodName(description: string): Schema {
  return word("", "^[A-Z]{3,32}$", "a method name of 3 to 32 upper-case letters", description);
}

/** An AGTP path or path template; its grammar is checked once the catalog is loaded. */
export function agtpPath(description: string): Schema {
  return word("", "^/[^\\s]*$", 'a path that starts with "/"', description);
}

/** The form `module.path.export`, below `[handlers] root`, or `process:function`. */
export function dottedPath(description: string): Schema {
  const pattern =
    "^[A-Za-z_$][\\w$]*(?:\\.[A-Za-z_$][\\w$]*)+$|^[A-Za-z0-9][A-Za-z0-9_-]{0,63}:[^\\s]{1,256}$";
  return word("", pattern, 'a dotted path like "endpoints.inventory.methods"', description);
}

/** A host name, an IPv4 address, or an IPv6 address without brackets. */
export function host(value: string, description: string): Schema {
  // A single colon would separate a port.
  const address = "[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(?:%\\w+)?";
  const pattern = `^[0-9A-Za-z](?:[0-9A-Za-z.-]{0,252})$|^${address}$`;
  return word(value, pattern, "a host name or an IP address", description);
}

/** A URL that may receive secrets: https, or plain http on this machine. */
export function safeUrl(description: string): Schema {
  const loopback = "(?:localhost|127(?:\\.\\d{1,3}){3}|\\[::1\\])(?=[:/]|$)";
  const pattern = `^(?:https://[^\\s/@]+|http://${loopback}[^\\s/@]*)(?:/\\S*)?$`;
  return word("", pattern, "an https URL, or an http URL of a loopback address", description);
}

/** A URL that is only passed on. */
export function webUrl(description: string): Schema {
  return word("", "^https?://[^\\s]+$", "an http or https URL", description);
}

/** An origin as browsers write it: a scheme, a host, and the port unless it is the default. */
export function origin(description: string): Schema {
  const pattern = "^https?://(?:[0-9a-z.-]+|\\[[0-9a-f:.]+\\])(?::[0-9]{1,5})?$";
  return word("", pattern, 'an origin like "https://app.example"', description);
}

/** The form `domain:action`, with wildcards. */
export function scopeToken(description: string): Schema {
  const pattern = "^(?:[A-Za-z0-9_-]+|\\*)(?::(?:[A-Za-z0-9_-]+|\\*))+$";
  return word("", pattern, 'a scope token like "booking:room"', description);
}

/** A public key that verifies signatures. */
export function publicKey(description: string): Schema {
  const pattern =
    "^(?:[A-Za-z0-9_-]{43}=?|-----BEGIN PUBLIC KEY-----[\\sA-Za-z0-9+/=]+-----END PUBLIC KEY-----\\s*)$";
  return word("", pattern, "an Ed25519 public key, base64url or PEM", description);
}

/** The fingerprint of a certificate or a public key. */
export function fingerprint(description: string): Schema {
  const pattern = "^(?:[0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$";
  return word("", pattern, "a SHA-256 fingerprint of 64 hex digits, colons allowed", description);
}

/** A text that no message and no log may quote. */
export function secret(description: string): Schema {
  return { ...text("", description, { pattern: "^[^\\u0000-\\u001f]+$" }), writeOnly: true };
}

/** A secret that a header field carries.   RFC 9110 §5.5 */
export function credential(description: string): Schema {
  const pattern = "^[\\t -~\\u0080-\\u00ff]+$";
  const expected =
    "a text that a header field can hold: not empty, without control characters, of Latin-1";
  return { ...secret(description), pattern, expected };
}

/**
 * A program's environment variables by name. Values are secrets of any form, even empty or with
 * several lines.
 */
export function variables(description: string): Schema {
  const value = { type: "string", pattern: "^[^\\u0000]*$", expected: "a text without NUL" };
  const name = word("", "^[A-Za-z_][A-Za-z0-9_]*$", "the name of a variable", "");
  return map(name, { ...value, writeOnly: true }, description);
}

/** The name of a webhook or a group. */
export const recipientName: Schema = word(
  "",
  "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$",
  "up to 64 of A-Z a-z 0-9 - _ . that start with a letter or a digit",
  "",
);
