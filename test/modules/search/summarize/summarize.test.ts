import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { canonicalOctets } from "../../../../src/identity/canonical-form.ts";
import { shareServer, type TestReply } from "../../../support/dispatch.ts";
import { INA, innFiles, REX } from "../../../support/thinking.ts";

const server = shareServer(innFiles());
const NOBODY = "";
const closed = shareServer(innFiles({ policies: { methods: { disallow: ["QUERY"] } } }));

function summarize(body: object, agentId = INA): Promise<TestReply> {
  const headers: Record<string, string> = agentId === NOBODY ? {} : { "Agent-ID": agentId };
  return server().send({ method: "SUMMARIZE", headers, body });
}

function sha256(octets: string | Buffer): string {
  return createHash("sha256").update(octets).digest("hex");
}

const STORY =
  "The inn is old. The rooms of the inn are quiet. Breakfast was late. The inn has friendly hosts. " +
  "I lost my umbrella. The rooms have thick walls. We paid in crowns. The hosts like the inn.";

// AGTP "SUMMARIZE"
describe("SUMMARIZE", () => {
  it("answers with sentences of the source, and with what it left out", async () => {
    const { status, body } = await summarize({ source: STORY, length: "brief" });
    expect(status).toBe(200);
    const result = body["result"];
    const summary = String(result?.["summary"]);
    for (const sentence of summary.split(/(?<=\.) /)) expect(STORY).toContain(sentence);
    expect(result).toMatchObject({
      format: "prose",
      length: "brief",
      approach: "extractive",
      source_hash: sha256(STORY),
      included: { sentences: 3 },
      left_out: { sentences: 5 },
      truncated: false,
      focus: null,
      sources: [{ kind: "inline", source_hash: sha256(STORY), sentences: 8 }],
      source_length: STORY.length,
      summary_length: summary.length,
      not_applied: [],
    });
    expect(result?.["confidence"]).toBeGreaterThan(0.2);
    expect(result?.["confidence"]).toBeLessThan(0.9);
  });

  it.each([
    ["brief", 3],
    ["short", 3],
    ["standard", 7],
    ["medium", 7],
    ["detailed", 8],
    ["long", 8],
  ])("is as long as asked: %s", async (length, sentences) => {
    const { body } = await summarize({ source: STORY, length });
    expect(body["result"]).toMatchObject({ included: { sentences } });
  });

  it("is bounded by max_length, which alone sets no other bound", async () => {
    for (const max_length of [1, 10, 17, 60, 400]) {
      for (const format of ["prose", "bullets"]) {
        const { body } = await summarize({ source: STORY, max_length, format });
        const { summary, length } = body["result"] ?? {};
        expect(String(summary).length).toBeLessThanOrEqual(max_length);
        expect(length).toBeNull();
      }
    }
    const { body } = await summarize({ source: STORY, max_sentences: 1 });
    expect(body["result"]).toMatchObject({ included: { sentences: 1 } });
  });

  it("says that it cut a sentence, and counts none then", async () => {
    const { body } = await summarize({ source: STORY, max_length: 9 });
    expect(body["result"]).toMatchObject({
      truncated: true,
      included: { sentences: 0 },
      left_out: { sentences: 8 },
    });
  });

  it("gives what has no full stop a line of its own", async () => {
    const { body } = await summarize({
      source: [{ name: "inn", rooms: 9 }, "It is old. It is red."],
    });
    expect(body["result"]).toMatchObject({ summary: "name: inn; rooms: 9\nIt is old. It is red." });
  });

  it("lists, or gives each sentence its place", async () => {
    const source = ["It is old.", "It is red. It is big."];
    const bullets = await summarize({ source, format: "bullets" });
    expect(bullets.body["result"]?.["summary"]).toBe("- It is old.\n- It is red.\n- It is big.");
    const structured = await summarize({ source, style: "json" });
    expect(structured.body["result"]).toMatchObject({
      format: "structured",
      summary: [
        { text: "It is old.", source: 0, position: 0 },
        { text: "It is red.", source: 1, position: 0 },
        { text: "It is big.", source: 1, position: 1 },
      ],
    });
  });

  it("says what the focus did, and is less sure where it did nothing", async () => {
    const found = await summarize({ source: STORY, max_sentences: 1, focus: "lost umbrellas" });
    expect(found.body["result"]).toMatchObject({
      summary: "I lost my umbrella.",
      focus: { asked: ["lost umbrellas"], matched_sentences: 1 },
    });
    const vain = await summarize({ source: STORY, max_sentences: 1, focus: ["volcano"] });
    const plain = await summarize({ source: STORY, max_sentences: 1 });
    expect(vain.body["result"]).toMatchObject({ focus: { matched_sentences: 0 } });
    expect(vain.body["result"]?.["confidence"]).toBeLessThan(
      Number(plain.body["result"]?.["confidence"]),
    );
  });

  it("names what it was told and can do nothing with", async () => {
    const { body } = await summarize({ source: STORY, audience: "children" });
    expect(body["result"]).toMatchObject({ not_applied: ["audience"] });
  });

  it("hashes a JSON source in its canonical form", async () => {
    const source = { b: "It is old. It is red.", a: [1, 2] };
    const { body } = await summarize({ source });
    expect(body["result"]).toMatchObject({ source_hash: sha256(canonicalOctets(source)) });
    const list = ["It is old.", { a: 1 }];
    const several = await summarize({ source: list });
    expect(several.body["result"]).toMatchObject({ source_hash: sha256(canonicalOctets(list)) });
  });

  it("answers strangers about what they send", async () => {
    expect(await summarize({ source: STORY }, NOBODY)).toMatchObject({ status: 200 });
  });

  it.each([
    ["no source", {}],
    ["a source that is no content", { source: 7 }],
    ["a length that nobody knows", { source: "x", length: "epic" }],
    ["a format that nobody knows", { source: "x", format: "song" }],
    ["a bound of nothing", { source: "x", max_length: 0 }],
    ["a focus that is no text", { source: "x", focus: {} }],
  ])("refuses %s", async (_, body) => {
    const reply = await summarize(body);
    expect(reply.status).toBe(422);
    expect(reply.body["error"]).toMatchObject({ code: "schema-validation-failed" });
  });

  it.each(["", " \n", "...", {}, [], [[]], { open: null }])(
    "has nothing to say about %j",
    async (source) => {
      const { status, body } = await summarize({ source });
      expect(status).toBe(422);
      expect(body["error"]).toMatchObject({ code: "source-unreadable" });
    },
  );

  it("reads no more than it may, from one source or from several", async () => {
    const half = "ab ".repeat(50_000);
    for (const source of ["a".repeat(262_145), [half, half], { half, other: half }]) {
      const { status, body } = await summarize({ source });
      expect(status).toBe(422);
      expect(body["error"]).toMatchObject({ code: "source-refused" });
    }
    expect(await summarize({ source: "ab ".repeat(80_000) })).toMatchObject({ status: 200 });
  });

  it("takes 4,096 sources, each of which has an entry in the answer, and no more", async () => {
    const most = Array.from({ length: 4_096 }, (_, at) => `Room ${at}.`);
    const { status, body } = await summarize({ source: most });
    expect([status, body["result"]?.["sources"]]).toEqual([200, expect.any(Array)]);
    const refused = await summarize({ source: [...most, "One more."] });
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).toContain("/source");
  });

  it("refuses text that no hash could be made of", async () => {
    const reply = await server().send({
      method: "SUMMARIZE",
      headers: { "Agent-ID": INA },
      body: { source: { text: "It is \ud800 broken." } },
    });
    expect(reply.status).toBe(422);
    expect(reply.body["error"]).toMatchObject({ code: "source-unreadable" });
  });
});

describe("a source of SUMMARIZE that is named", () => {
  it.each([
    "agtp://test/reviews/inn",
    "agtp:/reviews/inn",
    "/reviews/inn",
    "QUERY /reviews/inn",
    { method: "QUERY", path: "/reviews/inn" },
    { uri: "agtp://test/reviews/inn" },
  ])("is read with the caller's own permissions: %j", async (source) => {
    const { status, body } = await summarize({ source, length: "brief" });
    expect(status).toBe(200);
    expect(body["result"]).toMatchObject({
      summary: expect.stringContaining("inn"),
      sources: [{ kind: "reference", reference: "QUERY /reviews/inn", sentences: 7 }],
    });
  });

  it("may stand beside others, and has its own hash", async () => {
    const source = ["It is old.", { path: "/rooms", input: { room_type: "double" } }];
    const { status, body } = await summarize({ source });
    expect(status).toBe(200);
    const answered = { room_id: 12, room_type: "double" };
    expect(body["result"]).toMatchObject({
      source_hash: sha256(canonicalOctets(["It is old.", answered])),
      sources: [
        { kind: "inline" },
        { reference: "QUERY /rooms", source_hash: sha256(canonicalOctets(answered)) },
      ],
    });
  });

  it("may have a query, and may be what the protocol itself reads", async () => {
    const query = await summarize({ source: "agtp://test/rooms?room_type=single" });
    expect(query.body["result"]).toMatchObject({ sources: [{ reference: "QUERY /rooms" }] });
    for (const source of ["agtp://test", "/methods", `agtp://${INA}`, "DESCRIBE /"]) {
      expect(await summarize({ source }), source).toMatchObject({ status: 200 });
    }
  });

  it.each([
    [
      "a scope that the agent does not hold",
      REX,
      { path: "/guests", input: { guest_name: "x" } },
      455,
    ],
    ["nobody's permissions", NOBODY, "/reviews/inn", 262],
  ])("is refused for the reason that it gives: %s", async (_, agentId, source, status) => {
    const reply = await summarize({ source }, agentId);
    expect(reply.status).toBe(status);
    expect(reply.body["error"]).toMatchObject({ details: { status } });
  });

  it.each([
    "REMOVE /reviews/inn",
    "BOOK /rooms/12",
    { method: "REMOVE", path: "/reviews/inn" },
    ["It is old.", "REMOVE /reviews/inn"],
    "EXECUTE /",
    "NOTIFY /",
    "https://example.com/reviews",
    "agtp://elsewhere.example/reviews/inn",
    Array.from({ length: 9 }, () => "/reviews/inn"),
  ])("is never read where that would do anything: %j", async (source) => {
    const { status, body } = await summarize({ source });
    expect(status).toBe(422);
    expect(body["error"]).toMatchObject({ code: "source-refused" });
    const headers = { "Agent-ID": INA };
    const count = await server().send({ method: "QUERY", path: "/deletions", headers });
    expect(count.body).toEqual({ deleted: 0 });
  });

  it.each([
    ["is not there", "/elsewhere", undefined],
    ["is not there under its method", "FETCH /reviews/inn", undefined],
    ["summarizes itself", { method: "SUMMARIZE", path: "/", input: { source: "x" } }, undefined],
    ["plans", { method: "PLAN", path: "/", input: { goal: "x" } }, undefined],
    ["does not take its input", "/rooms?room_type=triple", 422],
    ["answers with nothing", "/silences", undefined],
    ["answers with what has no end", "/circles", undefined],
    ["breaks the path grammar", "QUERY /reviews/order", 460],
  ])("cannot be read where it %s", async (_, source, status) => {
    const { status: answered, body } = await summarize({ source });
    expect(answered).toBe(422);
    expect(body["error"]).toMatchObject({ code: "source-unreadable" });
    if (status !== undefined) expect(body["error"]).toMatchObject({ details: { status } });
    expect(server().faults).toEqual([]);
  });

  it("counts as what the method policy makes of it", async () => {
    const { status, body } = await closed().send({
      method: "SUMMARIZE",
      headers: { "Agent-ID": INA },
      body: { source: "QUERY /reviews/inn" },
    });
    expect(status).toBe(422);
    expect(body["error"]).toMatchObject({ code: "source-unreadable", details: { status: 405 } });
  });

  it("may come from a handler that hands on what has no end", async () => {
    const headers = { "Agent-ID": INA };
    const reply = await server().send({ method: "QUERY", path: "/relays", headers });
    expect(reply.body).toEqual({ status: 422 });
  });
});

// AGTP-API §12.1
describe("the recipe that queries and summarizes", () => {
  it("runs as an endpoint, its floor method through the pipeline", async () => {
    const { status, body } = await server().send({
      method: "AUDIT",
      path: "/inns/inn",
      headers: { "Agent-ID": INA },
      body: { length: "short" },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ length: "brief", included: { sentences: 3 }, subject: "inn" });
  });

  it("leaves out a length that the caller does not give", async () => {
    const headers = { "Agent-ID": INA };
    const { body } = await server().send({ method: "AUDIT", path: "/inns/inn", headers });
    expect(body).toMatchObject({ length: "standard" });
  });

  it("fails with the step that failed", async () => {
    const { status, body } = await server().send({
      method: "AUDIT",
      path: "/inns/inn",
      headers: { "Agent-ID": INA },
      body: { length: "epic" },
    });
    expect(status).toBe(422);
    expect(body["error"]).toMatchObject({
      code: "composition_failed",
      details: {
        recipe: "audit-via-query-and-summarize",
        step: 2,
        method: "SUMMARIZE",
        status: 422,
        outputs: { facts: { subject: "inn" } },
      },
    });
  });

  it("serves a known agent before strangers who asked for more, and all of them", async () => {
    const order: string[] = [];
    const asked = (who: string, source: string, agentId: string): Promise<void> =>
      summarize({ source }, agentId).then(({ status }) => void order.push(`${who} ${status}`));
    const strangers = Array.from({ length: 12 }, () =>
      asked("stranger", "A. B is here. ".repeat(2_000), NOBODY),
    );
    await asked("known", STORY, REX);
    expect(order).toEqual(["known 200"]);
    await Promise.all(strangers);
    expect(order).toHaveLength(13);
  });
});
