import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { cpuMs } from "../support/cpu-time.ts";
import { openServer, type TestServer } from "../support/dispatch.ts";
import { ask, JUDGE, NORA, negotiationFiles, OTTO, propose } from "../support/negotiation.ts";

const TEXT = { type: "string" };

/** A proposal that can be made, but for what else its input may have. */
function withInputs(properties: object, more: object = {}): object {
  const { input_schema: input } = JUDGE as { readonly input_schema: object };
  return {
    ...JUDGE,
    input_schema: { ...input, properties: { subject: TEXT, ...properties }, ...more },
  };
}

function nested(depth: number): object {
  let schema: object = TEXT;
  for (let level = 0; level < depth; level += 1) {
    schema = { type: "object", properties: { next: schema } };
  }
  return schema;
}

function lists(depth: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < depth; level += 1) value = [value];
  return value;
}

function many(count: number, schema: object = TEXT): object {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, schema]));
}

function values(count: number): object {
  return { enum: Array.from({ length: count }, (_, index) => `value ${index}`) };
}

/** Branches of branches: each level doubles how often a value would be judged. */
function doubling(levels: number): object {
  const defs = Array.from({ length: levels }, (_, level) => {
    const next = level + 1 === levels ? TEXT : { $ref: `#/$defs/d${level + 1}` };
    return [`d${level}`, { allOf: [next, next] }];
  });
  return {
    $defs: Object.fromEntries(defs),
    properties: { subject: TEXT, x: { $ref: "#/$defs/d0" } },
  };
}

// AGTP-API §10.6 step 4
describe("a hostile schema", () => {
  it.each([
    ["hundreds of properties", withInputs(many(300))],
    ["depth", withInputs({ deep: nested(20) })],
    ["depth beyond that of any body", withInputs({ deep: nested(70) })],
    ["the depth of a value in it", withInputs({ deep: { default: lists(80) } })],
    ["depth without end", withInputs({ deep: { default: lists(3_000) } })],
    ["the depth of an output", { ...JUDGE, output_schema: { default: lists(70) } }],
    ["a huge enum", withInputs({ choice: values(5_000) })],
    ["many patterns", withInputs(many(40, { ...TEXT, pattern: "^a+$" }))],
    ["a long pattern", withInputs({ a: { ...TEXT, pattern: "a?".repeat(200) } })],
    [
      "a pattern that repeats repetitions",
      withInputs({ a: { ...TEXT, pattern: "((a{99}){99}){99}" } }),
    ],
    ["a backreference", withInputs({ a: { ...TEXT, pattern: "(a)\\1" } })],
    ["a lookahead", withInputs({ a: { ...TEXT, pattern: "(?=a)b" } })],
    ["a reference to elsewhere", withInputs({ a: { $ref: "https://evil.example/schema" } })],
    ["a reference to a file", withInputs({ a: { $ref: "file:///etc/passwd" } })],
    [
      "references in a circle",
      withInputs({ a: { $ref: "#/properties/b" }, b: { $ref: "#/properties/a" } }),
    ],
    ["branches without end", withInputs({}, doubling(30))],
    ["too much text", withInputs({ a: { description: "x".repeat(70_000) } })],
    ["an open input", withInputs({}, { additionalProperties: true })],
  ])("is refused for %s, at once", async (_, endpoint) => {
    const server = await openServer(negotiationFiles());
    const before = cpuMs();
    const reply = await ask(server, NORA, propose(endpoint));
    expect(reply).toMatchObject({
      status: 400,
      body: { error: { code: "malformed-schema", issue: "malformed-schema" } },
    });
    expect(cpuMs() - before).toBeLessThan(1_000);
    expect(reply.text.length).toBeLessThan(4_096);
  });

  it("does not hide what comes before it, nor depth elsewhere", async () => {
    const server = await openServer(negotiationFiles());
    const deep = withInputs({ deep: nested(70) });
    const unknown = await ask(server, NORA, propose({ ...deep, method: "GRUMBLE" }));
    expect(unknown.status).toBe(459);
    const elsewhere = { ...JUDGE, semantic: { intent: lists(70) } };
    const reply = await ask(server, NORA, propose(elsewhere));
    expect(reply).toMatchObject({ status: 400, body: { error: { code: "invalid-body" } } });
  });

  it("cannot reach the prototype of anything", async () => {
    const server = await openServer(negotiationFiles());
    const schema = '{"type":"object","properties":{"__proto__":{"polluted":true}}}';
    const text = JSON.stringify({ endpoint: JUDGE });
    for (const body of [
      text.replace('"input_schema":{', `"input_schema":${schema},"x":{`),
      text.replace('{"endpoint":{', '{"endpoint":{"__proto__":{"method":"BOOK"},'),
      text.replace('{"endpoint":{', '{"__proto__":{"persistent":true},"endpoint":{'),
    ]) {
      const { status } = await ask(server, NORA, { method: "PROPOSE", body });
      expect([263, 400]).toContain(status);
    }
    expect({}).not.toHaveProperty("polluted");
    expect({}).not.toHaveProperty("persistent");
  });

  it("that is a million keys long is not read to its end", async () => {
    const server = await openServer(negotiationFiles());
    const reply = await ask(server, NORA, propose(withInputs(many(100_000))));
    expect(reply).toMatchObject({ status: 400, body: { error: { code: "body-too-large" } } });
  });

  it("may refer to itself, and values are judged in no time", async () => {
    const server = await openServer(negotiationFiles());
    const tree = { type: "object", properties: { left: { $ref: "#/$defs/tree" } } };
    const endpoint = withInputs({ tree: { $ref: "#/$defs/tree" } }, { $defs: { tree } });
    expect((await ask(server, NORA, propose(endpoint))).status).toBe(263);
    let value = "{}";
    for (let level = 0; level < 5_000; level += 1) value = `{"left":${value}}`;
    const before = cpuMs();
    const body = `{"subject":"barn","tree":${value}}`;
    const { status } = await ask(server, NORA, { method: "EVALUATE", path: "/verdicts", body });
    expect([200, 400, 422]).toContain(status);
    expect(cpuMs() - before).toBeLessThan(1_000);
  });

  it("may have a pattern that other engines would hang on", async () => {
    const server = await openServer(negotiationFiles());
    const endpoint = withInputs({ evil: { ...TEXT, pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" } });
    expect((await ask(server, NORA, propose(endpoint))).status).toBe(263);
    const before = cpuMs();
    const body = { subject: "barn", evil: "a".repeat(50_000) };
    const { status } = await ask(server, NORA, { method: "EVALUATE", path: "/verdicts", body });
    expect(status).toBe(422);
    expect(cpuMs() - before).toBeLessThan(2_000);
  });
});

/** As costly as a proposal may be and still be approved. */
function costly(round: number): object {
  return withInputs({
    ...many(200, { anyOf: [TEXT, { type: "integer", minimum: round }, { enum: ["a", "b"] }] }),
    ...Object.fromEntries(
      Array.from({ length: 16 }, (_, index) => [
        `q${index}`,
        { ...TEXT, pattern: `^(?:[a-z]{1,3}-${round}-${index})+$` },
      ]),
    ),
  });
}

/** The heap in use, in MB. */
function usedHeap(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  return process.memoryUsage().heapUsed / 1_048_576;
}

async function medianOf(server: TestServer, count: number, before: () => Promise<unknown>) {
  const times: number[] = [];
  for (let round = 0; round < count; round += 1) {
    await before();
    const startedAt = cpuMs();
    const request = { method: "QUERY", path: "/facts", body: { subject: "barn" } };
    const { status } = await ask(server, OTTO, request);
    times.push(cpuMs() - startedAt);
    if (status !== 200) throw new Error(`answered ${status}`);
  }
  return times.sort((left, right) => left - right)[Math.floor(count / 2)] ?? 0;
}

// AGTP-API §10.6, §16.2
describe("an agent that proposes and proposes", () => {
  it("does not slow the requests of others, beyond its own turn", async () => {
    const server = await openServer(negotiationFiles());
    const quiet = await medianOf(server, 50, () => Promise.resolve());
    let round = 0;
    const flooded = await medianOf(server, 50, async () => {
      round += 1;
      const { status } = await ask(server, NORA, propose(costly(round)));
      if (status !== 263) throw new Error(`answered ${status}`);
    });
    expect(flooded).toBeLessThan(quiet * 10 + 5);
  });

  it("leaves a bounded number of contracts, in memory and in the store, and the heap does not grow", async () => {
    const server = await openServer(negotiationFiles());
    const flood = async (count: number): Promise<void> => {
      for (let round = 0; round < count; round += 1) {
        const { properties } = { properties: { [`n${round}`]: values(20 + (round % 7)) } };
        const approved = round % 6 !== 0;
        const endpoint = withInputs(properties, approved ? {} : { additionalProperties: true });
        const { status } = await ask(server, NORA, propose(endpoint));
        if (status !== (approved ? 263 : 400)) throw new Error(`answered ${status}`);
      }
    };
    await flood(1_300);
    expect(await server.state.store.list("contracts")).toHaveLength(1_000);
    const list = await ask(server, NORA, { method: "DISCOVER", path: "/contracts" });
    expect(list.body).toHaveLength(1_000);
    const before = usedHeap();
    await flood(1_000);
    expect(usedHeap() - before).toBeLessThan(8);
  });
});
