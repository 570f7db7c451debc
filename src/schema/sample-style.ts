/** The words and numbers that samples are made of, where a schema leaves the choice. */

/** The parts that a sample is made of. */
export interface SampleStyle {
  readonly word: string;
  /** Behind the word, where it has to be longer. */
  readonly padding: string;
  readonly number: 0 | 1;
  /** The type of what says nothing about its own. */
  readonly untyped: "string" | "object";
  /** True if a text is made up that matches a pattern. */
  readonly readsPatterns: boolean;
  /** A text of each format. */
  readonly formats: ReadonlyMap<string, string>;
  /** The first date, in milliseconds since the epoch, the days after it for the others. */
  readonly firstDay?: number;
}

/** A text of each format whose texts are all alike; dates are not among them. */
const FORMAT_EXAMPLES: ReadonlyMap<string, string> = new Map([
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

/** Values that somebody could send: the dates are days to come. */
export const EXAMPLE_STYLE: SampleStyle = {
  word: "example",
  padding: "e",
  number: 1,
  untyped: "string",
  readsPatterns: true,
  formats: FORMAT_EXAMPLES,
  firstDay: Date.UTC(2030, 0, 15, 9),
};

/** Values that say as little as they can. */
export const PLAIN_STYLE: SampleStyle = {
  word: "text",
  padding: ".",
  number: 0,
  untyped: "object",
  readsPatterns: false,
  formats: new Map([
    ...FORMAT_EXAMPLES,
    ["date-time", "1970-01-01T00:00:00Z"],
    ["date", "1970-01-01"],
    ["time", "00:00:00Z"],
    ["duration", "PT0S"],
    ["uri-reference", "/"],
    ["uuid", "00000000-0000-0000-0000-000000000000"],
    ["json-pointer", ""],
    ["regex", ""],
  ]),
};
