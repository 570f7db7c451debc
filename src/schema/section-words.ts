/** Texts with a fixed form that several sections of the configuration share. */
import { type Schema, word } from "./section-field.ts";

/** AGTP-API §3.2: upper-case ASCII, three to thirty-two letters. */
export function methodName(description: string): Schema {
  return word("", "^[A-Z]{3,32}$", "a method name of 3 to 32 upper-case letters", description);
}

/** An AGTP path or path template; the path grammar itself is checked with the catalog at hand. */
export function agtpPath(description: string): Schema {
  return word("", "^/[^\\s]*$", 'a path that starts with "/"', description);
}

/** `module.path.export`, found under `[handlers] root`, or `process:function`. */
export function dottedPath(description: string): Schema {
  const pattern =
    "^[A-Za-z_$][\\w$]*(?:\\.[A-Za-z_$][\\w$]*)+$|^[A-Za-z0-9][A-Za-z0-9_-]{0,63}:[^\\s]{1,256}$";
  return word("", pattern, 'a dotted path like "endpoints.inventory.methods"', description);
}

/** A host name, an IPv4 address, or an IPv6 address without brackets. */
export function host(value: string, description: string): Schema {
  const pattern = "^[0-9A-Za-z](?:[0-9A-Za-z.-]{0,252})$|^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%\\w+)?$";
  return word(value, pattern, "a host name or an IP address", description);
}

/** A URL that secrets may be sent to: https, or plain http on this machine. */
export function safeUrl(description: string): Schema {
  const loopback = "(?:localhost|127(?:\\.\\d{1,3}){3}|\\[::1\\])(?=[:/]|$)";
  const pattern = `^(?:https://[^\\s/@]+|http://${loopback}[^\\s/@]*)(?:/\\S*)?$`;
  return word("", pattern, "an https URL, or an http URL of a loopback address", description);
}

/** A URL that is only handed on. */
export function webUrl(description: string): Schema {
  return word("", "^https?://[^\\s]+$", "an http or https URL", description);
}

/** As a browser writes it: a scheme, a host and the port where it is not the scheme's own. */
export function origin(description: string): Schema {
  const pattern = "^https?://(?:[0-9a-z.-]+|\\[[0-9a-f:.]+\\])(?::[0-9]{1,5})?$";
  return word("", pattern, 'an origin like "https://app.example"', description);
}

/** `domain:action`, wildcards allowed. */
export function scopeToken(description: string): Schema {
  const pattern = "^(?:[A-Za-z0-9_-]+|\\*)(?::(?:[A-Za-z0-9_-]+|\\*))+$";
  return word("", pattern, 'a scope token like "booking:room"', description);
}

/** A text that no message and no log may quote. */
export function secret(description: string): Schema {
  return { ...word("", "^[^\\u0000-\\u001f]+$", "a text", description), writeOnly: true };
}

/** The name of a webhook or a group. */
export const recipientName: Schema = word(
  "",
  "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$",
  "up to 64 of A-Z a-z 0-9 - _ . that start with a letter or a digit",
  "",
);
