/** No question is a fault: whatever is asked, the answer is one of the protocol. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shareServer } from "../support/dispatch.ts";
import { ask, type QueriedResult } from "../support/querying.ts";
import { CLERK, corpusFiles, GUEST } from "../support/search-corpus.ts";

const server = shareServer(corpusFiles());

const odd = fc.constantFrom(
  ...[
    "__proto__",
    "constructor",
    "toString",
    "*",
    " * ",
    "",
    "\u0000",
    "\ud800",
    "🙂",
    "ﷺ".repeat(100),
  ],
  ...[
    "a".repeat(1024),
    "a ".repeat(512),
    "予".repeat(500),
    "room AND NOT room*~2",
    "\u202e",
    "%",
    "{}",
  ],
);
const text = fc.oneof(odd, fc.string({ unit: "grapheme", maxLength: 60 }), fc.lorem());
const value = fc.oneof(text, fc.jsonValue({ maxDepth: 4 }), fc.integer(), fc.constant(null));
const names = [
  "kind",
  "method",
  "path",
  "tier",
  "scopes",
  "callable",
  "__proto__",
  "tags",
  "geography",
];
const filter = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 4 });
const scope = fc.oneof(
  text,
  fc.array(fc.oneof(text, fc.constantFrom("agents", "hotel", "contract"))),
);

const question = fc.record(
  {
    intent: fc.oneof(text, value, fc.dictionary(text, value, { maxKeys: 5 })),
    criteria: value,
    scope,
    filter: fc.oneof(filter, value),
    format: fc.oneof(fc.constantFrom("structured", "natural", "raw"), text),
    confidence_threshold: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), value),
    max_results: fc.oneof(fc.integer({ min: -1, max: 200 }), value),
    context: value,
  },
  { requiredKeys: ["intent"] },
);

describe("whatever is asked", () => {
  it("of QUERY and DISCOVER is answered, and never a fault", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("QUERY", "DISCOVER"),
        question,
        fc.constantFrom(undefined, CLERK, GUEST),
        async (method, body, agent) => {
          const reply = await ask(server(), method, body, agent === undefined ? {} : { agent });
          expect([200, 422]).toContain(reply.status);
          expect(server().faults).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("in words brings ranked results with confidences from 0 to 1", async () => {
    const intents = fc.oneof(text, fc.lorem()).filter((intent) => intent !== "");
    await fc.assert(
      fc.asyncProperty(intents, fc.integer({ min: 1, max: 20 }), async (intent, most) => {
        const body = { intent, max_results: most };
        const reply = await ask(server(), "QUERY", body, { agent: CLERK });
        expect(reply.status).toBe([...intent].length > 1024 ? 422 : 200);
        if (reply.status !== 200) return;
        const results = reply.body["result"]?.["results"] as unknown as readonly QueriedResult[];
        expect(results.length).toBeLessThanOrEqual(most);
        expect(results.map(({ rank }) => rank)).toEqual(results.map((_, index) => index + 1));
        const confidences = results.map(({ confidence }) => confidence);
        expect(confidences).toEqual(confidences.toSorted((one, other) => other - one));
        for (const one of confidences) expect(one >= 0 && one <= 1).toBe(true);
        expect(new Set(results.map(({ source }) => source)).size).toBe(results.length);
      }),
      { numRuns: 200 },
    );
  });
});
