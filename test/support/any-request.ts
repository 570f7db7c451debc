/** Requests at random: mostly to what the golden exchanges' deployment has, sometimes to anything. */
import fc from "fast-check";

/** A request whose parts are chosen one by one. */
interface AnyRequest {
  readonly pair: readonly [method: string, path: string];
  readonly query: string | null;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

const PAIRS = [
  ...["QUERY /rooms", "QUERY /rooms/7", "QUERY /rooms/featured", "QUERY /floors/1/beds/2"],
  ...["BOOK /room", "BUY /room", "RESERVE /suite", "RESERVE /suites", "SALUTE /guests"],
  ...["AUDITLOG /ledger", "GET /brochures", "CREATE /brochures", "EXECUTE /brochures"],
  ...["AUDIT /vaults", "RESERVE /stays", "EXECUTE /relay", "EXECUTE /loop", "TRANSFER /funds"],
  ...["DISCOVER /", "DISCOVER /methods", "DISCOVER /agents", "DISCOVER /genesis", "PROPOSE /"],
].map((pair): [string, string] => pair.split(" ") as [string, string]);
const METHODS = PAIRS.map(([method]) => method);
const PATHS = [...PAIRS.map(([, path]) => path), "/book", "/nowhere", "//", "/rooms/"];
const KNOWN = ["a", "b", "c"].map((letter) => letter.repeat(64));
const AGENTS = [...KNOWN, "e".repeat(64)];
const HEADERS =
  "Owner-ID Task-ID Request-ID Session-ID Allow-RCNS Contract-Synthesized Accept X-Else";
const MEMBERS =
  "guest_id nights room_id vault_id target method path input depth city limit parameters task_id __proto__ constructor";

/** Printable ASCII without a space, short. */
const word = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  maxLength: 24,
});
const target = word.map((text) => text.replaceAll("#", "-"));
const token = fc.stringMatching(/^[A-Za-z0-9!$%&'*+.^_`|~-]{1,40}$/);

const pair = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...PAIRS) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...METHODS), fc.constantFrom(...PATHS)) },
  { weight: 1, arbitrary: fc.tuple(token, fc.constantFrom(...PATHS)) },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constantFrom(...METHODS),
      target.map((text) => `/${text.replaceAll("?", "")}`),
    ),
  },
);

const agentId = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...AGENTS) },
  { weight: 1, arbitrary: word },
);
const claim = fc.oneof(
  fc.constantFrom("booking:room", "booking:*", "*:*", "vault:open, booking:room", ""),
  word,
);
const contentType = fc.constantFrom("application/json", "application/vnd.agtp+json", "text/plain");
const some = fc.record(
  { "Agent-ID": agentId, "Authority-Scope": claim, "Content-Type": contentType },
  { requiredKeys: [] },
);
const others = fc.dictionary(fc.constantFrom(...HEADERS.split(" ")), word, { maxKeys: 2 });
const strange = fc
  .tuple(some, others)
  .map((parts) => parts.flatMap((part) => Object.entries<string>({ ...part })));
const plain = fc.constantFrom(...KNOWN).map((id): [string, string][] => [["Agent-ID", id]]);
const headers = fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: strange });

const value = fc.oneof(
  fc.constantFrom<unknown>(...METHODS, ...PATHS),
  fc.constantFrom<unknown>(1, 13, "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42", {}),
  fc.jsonValue({ maxDepth: 2 }),
);
const parameters = fc.dictionary(fc.constantFrom(...MEMBERS.split(" ")), value, { maxKeys: 4 });
const booking = fc.constant({ guest_id: "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42", nights: 2 });
const object = fc.oneof(booking, parameters).map((one) => JSON.stringify(one));
const body = fc.oneof(
  { weight: 5, arbitrary: fc.constant("") },
  { weight: 4, arbitrary: object },
  { weight: 1, arbitrary: object.map((text) => `{"task_id":"t","parameters":${text}}`) },
  { weight: 1, arbitrary: fc.oneof(fc.json(), word) },
);

/** Any request; whether it is a good one is left open. */
export const anyRequest: fc.Arbitrary<AnyRequest> = fc.record({
  pair,
  query: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: target }),
  headers,
  body,
});

/** Its bytes, as latin1 text. */
export function encodeAnyRequest({ pair: [method, path], query, ...rest }: AnyRequest): string {
  const bytes = Buffer.from(rest.body, "utf8");
  const fields = [...rest.headers, ["Content-Length", String(bytes.length)]];
  const lines = fields.map(([name, text]) => `${name}: ${text}\r\n`).join("");
  const requestTarget = query === null ? path : `${path}?${query}`;
  return `AGTP/1.0 ${method} ${requestTarget}\r\n${lines}\r\n${bytes.toString("latin1")}`;
}
