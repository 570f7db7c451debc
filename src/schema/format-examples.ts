/** A text of each format whose texts are all alike; dates are not among them. */

/** By the name of the format. */
export const FORMAT_EXAMPLES: ReadonlyMap<string, string> = new Map([
  ["time", "09:00:00Z"],
  ["duration", "P1D"],
  ["email", "agent@example.com"],
  ["idn-email", "agent@example.com"],
  ["hostname", "example.com"],
  ["idn-hostname", "example.com"],
  ["ipv4", "192.0.2.1"],
  ["ipv6", "2001:db8::1"],
  ["uri", "https://example.com/"],
  ["url", "https://example.com/"],
  ["iri", "https://example.com/"],
  ["uri-reference", "/example"],
  ["iri-reference", "/example"],
  ["uri-template", "/example/{id}"],
  ["uuid", "0196f0a0-0000-7000-8000-000000000000"],
  ["json-pointer", "/example"],
  ["relative-json-pointer", "0"],
  ["regex", "^example$"],
  ["byte", "ZXhhbXBsZQ=="],
]);
