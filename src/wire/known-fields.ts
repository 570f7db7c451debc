/**
 * Names of header fields seen on nearly every message, recognised in the bytes themselves, in any
 * case: neither a string nor its lower-casing has to be made for them. A name that is not listed
 * costs a little more and means the same.
 */

const NAMES = [
  ...["accept", "agent-id", "agtp-api-version", "allow-rcns", "attribution-record"],
  ...["authority-scope", "authorization", "content-length", "content-type"],
  ...[
    "contract-synthesized",
    "escalation-id",
    "host",
    "idempotency-key",
    "negotiation-id",
    "owner-id",
  ],
  ...["request-id", "response-id", "server-id", "session-id", "task-id", "trust-tier"],
  ...["user-agent", "verification-path"],
];

interface KnownField {
  readonly name: string;
  readonly octets: Uint8Array;
}

const SLOTS = 256;
const LOWER_CASE_BIT = 0x20;
const TABLE: readonly (KnownField | undefined)[] = buildTable();

/** The lower-case name that the token in `bytes` spells, if it is one of the well-known. */
export function knownFieldName(bytes: Uint8Array, from: number, to: number): string | undefined {
  const length = to - from;
  const known = TABLE[slot(length, bytes[from]!, bytes[to - 1]!)];
  if (known === undefined || known.octets.length !== length) return undefined;
  const { octets } = known;
  for (let index = 0; index < length; index += 1) {
    // Within a token, setting the bit changes letters and nothing that could be read as "-".
    if ((bytes[from + index]! | LOWER_CASE_BIT) !== octets[index]) return undefined;
  }
  return known.name;
}

function slot(length: number, first: number, last: number): number {
  return (length * 37 + (first | LOWER_CASE_BIT) * 5 + (last | LOWER_CASE_BIT) * 11) % SLOTS;
}

function buildTable(): (KnownField | undefined)[] {
  const table = new Array<KnownField | undefined>(SLOTS).fill(undefined);
  for (const name of NAMES) {
    const octets = Uint8Array.from(name, (letter) => letter.charCodeAt(0));
    // Of two names that share a slot, the later is merely not recognised.
    table[slot(name.length, octets[0]!, octets[name.length - 1]!)] ??= { name, octets };
  }
  return table;
}
