/** Live sources: asked for one caller, named in the scope, bounded, and allowed to fail. */
import { describe, expect, it } from "vitest";
import { atOnce, type Drive, type Paced } from "../../../src/base/paced.ts";
import { TaskQueue, THE_SERVER } from "../../../src/base/task-queue.ts";
import { ANONYMOUS } from "../../../src/dispatch/caller/caller.ts";
import type { QueryEntry, QuerySource } from "../../../src/dispatch/module/query-source.ts";
import type { Asker, SearchEntry } from "../../../src/modules/search/entry.ts";
import { Search, type SearchRequest, type Surface } from "../../../src/modules/search/search.ts";
import { wordsOf } from "../../../src/modules/search/words.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import { countTurns } from "../../support/event-loop.ts";

const PEER = { address: "127.0.0.1", port: 4480 };

function asker(agentId: string): Asker {
  return { caller: { ...ANONYMOUS, agentId }, peer: PEER, zones: undefined };
}

function request(intent: string, more: Partial<SearchRequest> = {}): SearchRequest {
  const words = intent === "*" ? undefined : wordsOf(intent);
  return {
    question: { kind: "question", words, filter: {} },
    scope: undefined,
    threshold: 0,
    maxResults: 100,
    asksLiveSources: true,
    ...more,
  };
}

function message(id: string, text: string): QueryEntry {
  return { id, texts: [text], content: { id, text } };
}

/** Every agent has two messages of its own. */
const inbox: QuerySource = {
  name: "inbox",
  entries: async ({ caller: { agentId = "nobody" } }) => [
    message(`${agentId}-2`, "the boiler in room nine is broken"),
    message(`${agentId}-1`, "the invoice was paid"),
  ],
};

// biome-ignore lint/correctness/useYield: nothing of it takes long.
function* surfaceOf(open: readonly SearchEntry[]): Paced<Surface> {
  return { open, disclosed: [] };
}

function inTurns(work: TaskQueue): Drive {
  return (steps) => work.pace(steps, THE_SERVER, new AbortController().signal);
}

function searchIn(...sources: readonly QuerySource[]): Search {
  return new Search({ surface: () => surfaceOf([]), sources: () => sources, drive: atOnce });
}

const warnings: object[] = [];
const log = { warn: (fields: object) => void warnings.push(fields) };

async function find(search: Search, what: SearchRequest, agentId = "alice") {
  const findings = await search.find(what, asker(agentId), { log, drive: atOnce });
  return {
    ...findings,
    found: findings.hits.map(({ entry, confidence }) => [entry.id, confidence] as const),
  };
}

describe("a live source", () => {
  it("is searched by words, and asked for the caller alone", async () => {
    const search = searchIn(inbox);
    const { found } = await find(search, request("broken boiler"));
    expect(found).toEqual([["alice-2", 1]]);
    const { found: others } = await find(search, request("broken boiler"), "bob");
    expect(others).toEqual([["bob-2", 1]]);
  });

  it("shows all it has, the newest first, when it is named and words do not tell", async () => {
    const search = searchIn(inbox);
    const { found } = await find(search, request("my messages", { scope: ["inbox"] }));
    expect(found).toEqual([
      ["alice-2", 0],
      ["alice-1", 0],
    ]);
    const { found: paid } = await find(search, request("paid", { scope: ["inbox"] }));
    expect(paid).toEqual([
      ["alice-1", 1],
      ["alice-2", 0],
    ]);
    const sure = request("paid", { scope: ["inbox"], threshold: 0.1 });
    expect((await find(search, sure)).found).toEqual([["alice-1", 1]]);
    expect((await find(search, request("my messages"))).found).toEqual([]);
  });

  it("is not asked where the scope leaves it out", async () => {
    let asked = 0;
    const counting: QuerySource = { ...inbox, entries: async () => [message(`${asked++}`, "x")] };
    const search = searchIn(counting);
    await find(search, request("*", { scope: ["agents"] }));
    await find(search, request("*", { asksLiveSources: false }));
    expect(asked).toBe(0);
    expect((await find(search, request("*"))).searched).toContain("inbox");
  });

  it("that fails takes nothing from the others, and is named", async () => {
    const broken: QuerySource = { name: "run", entries: () => Promise.reject(new Error("disk")) };
    const throwing: QuerySource = {
      name: "escalation",
      entries: () => {
        throw new Error("bug");
      },
    };
    const { found, unavailable } = await find(searchIn(broken, inbox, throwing), request("paid"));
    expect(found).toEqual([["alice-1", 1]]);
    expect(unavailable).toEqual(["run", "escalation"]);
    expect(warnings).toHaveLength(2);
  });

  it("is looked at no further than its newest entries, and their beginnings", async () => {
    const long = `${"filler ".repeat(100_000)} needle`;
    const many = Array.from({ length: 5000 }, (_, at) => message(`m${at}`, long));
    const flooded: QuerySource = { name: "inbox", entries: async () => many };
    const startedAt = cpuMs();
    const { found } = await find(searchIn(flooded), request("*", { maxResults: 10_000 }));
    expect(found).toHaveLength(200);
    expect((await find(searchIn(flooded), request("needle"))).found).toEqual([]);
    expect(cpuMs() - startedAt).toBeLessThan(5000);
  });
});

describe("what a server has to be found", () => {
  const COUNT = 500;

  function endpoint(place: number): SearchEntry {
    return {
      ...{ kind: "endpoint", id: `e${place}`, prominence: 1, facets: {} },
      texts: { name: `harbour ${place === COUNT - 1 ? "lighthouse" : "berth"}` },
      isVisibleTo: () => true,
      show: () => undefined,
    };
  }

  function searchInMany(drive: Drive = inTurns(new TaskQueue({ sliceMs: 4 }))): Search {
    const open = Array.from({ length: COUNT }, (_, place) => endpoint(place));
    return new Search({ surface: () => surfaceOf(open), sources: () => [], drive });
  }

  it("is indexed by and by, so that others have their turn", async () => {
    const others = countTurns();
    let steps = 0;
    const search = searchInMany(inTurns(new TaskQueue({ sliceMs: 16, now: () => steps++ })));
    await search.prepare();
    others.stop();
    expect(others.turns).toBeGreaterThan(10);
    expect((await find(search, request("lighthouse"))).found).toEqual([[`e${COUNT - 1}`, 1]]);
  });

  it("is found by whoever asks before all of it is indexed, and once only", async () => {
    const search = searchInMany();
    const preparing = search.prepare();
    const whole = [[`e${COUNT - 1}`, 1]];
    expect((await find(search, request("lighthouse"))).found).toEqual(whole);
    await preparing;
    expect((await find(search, request("lighthouse"))).found).toEqual(whole);
    expect((await find(searchInMany(), request("lighthouse"))).found).toEqual(whole);
  });
});
