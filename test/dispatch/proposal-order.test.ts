import { describe, expect, it } from "vitest";
import { openServer, shareServer } from "../support/dispatch.ts";
import {
  ask,
  JUDGE,
  NORA,
  negotiationFiles,
  OTTO,
  PIA,
  propose,
  SEMANTIC,
} from "../support/negotiation.ts";

/** One fault for each step of the evaluation, in the order of the steps. */
const FAULTS: readonly (readonly [code: string, status: number, fault: object])[] = [
  ["method-not-in-catalog", 459, { method: "EVALUAET" }],
  ["path-grammar-violation", 460, { path: "/book/x" }],
  ["invalid-proposal", 400, { semantic: { ...SEMANTIC, confidence: 2 } }],
  ["malformed-schema", 400, { input_schema: { type: "sausage" } }],
  ["scope-required", 262, { required_scopes: ["vault:open"] }],
  [
    "composition-impossible",
    463,
    { output_schema: { type: "object", required: ["moon"], properties: { moon: {} } } },
  ],
];
const PAIRS = FAULTS.flatMap((first, index) =>
  FAULTS.slice(index + 1).map((second) => ({ first, second })),
);

// AGTP-API §10.6
describe("the evaluation of a proposal", () => {
  const server = shareServer(
    negotiationFiles({
      policies: {
        methods: {
          disallow: ["EVALUATE"],
          redirects: [{ from_method: "ASSESS", to_method: "EVALUATE" }],
        },
      },
    }),
  );

  it.each(FAULTS)("answers %s with %i", async (code, status, fault) => {
    const reply = await ask(server(), NORA, propose({ ...JUDGE, method: "RATE", ...fault }));
    expect(reply).toMatchObject({ status, body: { error: { code } } });
  });

  it.each(PAIRS)("answers $first.0 before $second.0", async ({ first, second }) => {
    const endpoint = { ...JUDGE, method: "RATE", ...second[2], ...first[2] };
    const reply = await ask(server(), NORA, propose(endpoint));
    expect(reply).toMatchObject({ status: first[1], body: { error: { code: first[0] } } });
  });

  it.each(FAULTS.slice(0, 5))("answers %s before the policy", async (code, status, fault) => {
    const reply = await ask(server(), NORA, propose({ ...JUDGE, ...fault }));
    expect(reply).toMatchObject({ status, body: { error: { code } } });
  });

  it.each([
    ["a method that is not allowed", { method: "EVALUATE" }],
    ["a pair that is redirected", { method: "ASSESS" }],
    ["what is registered", { method: "QUERY", path: "/facts" }],
    ["what would be the protocol's own", { method: "DISCOVER", path: "/toolset" }],
  ])("refuses %s by policy, last of all", async (_, pair) => {
    const reply = await ask(server(), NORA, propose({ ...JUDGE, ...pair }));
    expect(reply).toMatchObject({
      status: 463,
      body: { reason: "policy-refused", explanation: expect.any(String) },
    });
  });

  it.each([
    ["no path", { path: undefined }, 459],
    ["a description that is no text", { description: 5 }, 459],
    ["scopes that are none", { required_scopes: ["x"] }, 459],
  ])("judges the method before it minds %s", async (_, fault, status) => {
    const unknown = { ...JUDGE, ...fault, method: "EVALUAET" };
    expect((await ask(server(), NORA, propose(unknown))).status).toBe(status);
    const known = { ...JUDGE, ...fault, method: "RATE" };
    expect(await ask(server(), NORA, propose(known))).toMatchObject({
      status: 400,
      body: { reason: expect.any(String), error: { issue: expect.any(String) } },
    });
  });

  it("judges the path before the terms", async () => {
    const terms = { persistent: "yes", requested_duration: "soon" };
    const crooked = propose({ ...JUDGE, method: "RATE", path: "/book/x" }, terms);
    expect((await ask(server(), NORA, crooked)).status).toBe(460);
    const straight = propose({ ...JUDGE, method: "RATE" }, terms);
    expect(await ask(server(), NORA, straight)).toMatchObject({
      status: 400,
      body: { field: "persistent" },
    });
  });

  it("takes a path value for an input that has to be declared", async () => {
    const undeclared = { ...JUDGE, method: "RATE", path: "/verdicts/{verdict_id}" };
    expect(await ask(server(), NORA, propose(undeclared))).toMatchObject({
      status: 400,
      body: { error: { code: "malformed-schema", field: "input_schema" } },
    });
    const declared = { ...JUDGE, method: "RATE", path: "/verdicts/{subject}" };
    expect((await ask(server(), OTTO, propose(declared))).status).toBe(263);
    const request = { method: "RATE", path: "/verdicts/red%20barn" };
    expect(await ask(server(), OTTO, request)).toMatchObject({
      status: 200,
      body: { verdict: "2 facts" },
    });
  });

  it("says 262 for the scopes of the steps, even where the pair is registered", async () => {
    const endpoint = { ...JUDGE, method: "RATE" };
    expect(await ask(server(), PIA, propose(endpoint))).toMatchObject({
      status: 262,
      body: { type: "scope-required", scope: "facts:read" },
    });
  });

  it("judges by the scopes that are claimed", async () => {
    const narrow = { "Authority-Scope": "rcns:negotiate" };
    const reply = await ask(server(), NORA, propose({ ...JUDGE, method: "RATE" }), narrow);
    expect(reply).toMatchObject({ status: 262, body: { scope: "facts:read" } });
  });
});

// AGTP-API §8.7
it("is not begun where synthesis is off, whatever is wrong with the proposal", async () => {
  const server = await openServer(negotiationFiles({ policies: { synthesis_enabled: false } }));
  const bodies = [{ endpoint: JUDGE }, { endpoint: JUDGE, name: "x" }, { endpoint: 5 }, {}];
  for (const body of bodies) {
    const reply = await ask(server, NORA, { method: "PROPOSE", body });
    expect(reply).toMatchObject({ status: 463, body: { reason: "synthesis-disabled" } });
  }
});
