/** What is exported is imported as it was; a file that is not as it was written is refused. */
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { importState } from "../../../src/state/moving/import-state.ts";
import { readStateFile, StateFileError } from "../../../src/state/moving/read-state-file.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { openState, type ServerState } from "../../../src/state/state.ts";
import type { Store } from "../../../src/state/store.ts";
import { makeDirectory } from "../../support/directory.ts";
import { makeDraft } from "../../support/ledger.ts";
import { ALICE, BOB, entriesOf, grow } from "../../support/moving.ts";
import { readJournal, sha256, walkChain } from "../../support/records.ts";
import { alterStore, openTestStore } from "../../support/store.ts";

const onFault = (error: unknown): never => {
  throw error;
};

async function open(store: Store, directory: string | undefined): Promise<ServerState> {
  const journalDirectory = directory && join(directory, "journal");
  const state = await openState({ store, journalDirectory, onFault });
  onTestFinished(() => state.close().catch(() => undefined));
  return state;
}

async function exported(state: ServerState): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of state.exported("agents.example")) lines.push(line);
  return lines;
}

async function* octetsOf(text: string | Buffer, size = 7): AsyncGenerator<Buffer> {
  const octets = Buffer.from(text);
  for (let at = 0; at < octets.length; at += size) yield octets.subarray(at, at + size);
}

async function importInto(store: Store, directory: string, text: string) {
  const target = { store, directory: join(directory, "journal"), onHeader: () => undefined };
  return importState(octetsOf(text), target);
}

async function judge(text: string | Buffer): Promise<unknown> {
  try {
    for await (const _ of readStateFile(octetsOf(text, 4096)));
    return undefined;
  } catch (error) {
    return error;
  }
}

describe("an export", () => {
  it("reads no more entries at once than its turn is for, however long they are", async () => {
    const memory = createMemoryStore();
    const keys = Array.from({ length: 400 }, (_, at) => `run-${String(at).padStart(3, "0")}`);
    await memory.commit(keys.map((key) => ({ kind: "put", collection: "runs", key, value: key })));
    const limits: number[] = [];
    const store: Store = alterStore(memory, {
      collections: async () => ["runs"],
      list: async (collection, range) => {
        const { limit = 0 } = range ?? {};
        if (collection !== "runs") return memory.list(collection, range);
        limits.push(limit);
        const until = performance.now() + limit;
        // Each takes a millisecond to be read.
        while (performance.now() < until);
        return memory.list(collection, range);
      },
    });
    const lines = await exported(await open(store, undefined));
    expect(lines.filter((line) => line.includes('"runs"'))).toHaveLength(400);
    expect(Math.max(...limits)).toBeLessThanOrEqual(4);
  });

  it("reads many entries at once where they are short", async () => {
    const memory = createMemoryStore();
    const keys = Array.from({ length: 2_000 }, (_, at) => `run-${at}`);
    await memory.commit(keys.map((key) => ({ kind: "put", collection: "runs", key, value: key })));
    let count = 0;
    const list: Store["list"] = (collection, range) => {
      if (collection === "runs") count += 1;
      return memory.list(collection, range);
    };
    const collections = async () => ["runs"];
    await exported(await open(alterStore(memory, { collections, list }), undefined));
    expect(count).toBeLessThan(400);
  });
});

describe("an export that is imported", () => {
  it.each(["memory", "sqlite"] as const)(
    "has entries, chains and records of %s",
    async (driver) => {
      const [from, to] = [makeDirectory(), makeDirectory()];
      const store = await openTestStore(driver, join(from, "state.db"));
      const state = await open(store, driver === "memory" ? undefined : from);
      await grow(state, 30);
      const lines = await exported(state);
      const things = await entriesOf(store, "things");
      const heads = [ALICE, BOB].map((agent) => state.ledger.headOf(agent)?.auditId);
      const target = await openTestStore("sqlite", join(to, "state.db"));
      const report = await importInto(target, to, lines.join(""));
      expect(report).toMatchObject({ records: 30, chains: 2 });
      const next = await open(target, to);
      expect(await entriesOf(target, "things")).toEqual(things);
      expect([ALICE, BOB].map((agent) => next.ledger.headOf(agent)?.auditId)).toEqual(heads);
      await grow(next, 3);
      const chain = walkChain(readJournal(join(to, "journal")), ALICE);
      expect(chain).toHaveLength(22);
    },
  );

  it("is of one moment, whatever is written beside it", async () => {
    const [from, to] = [makeDirectory(), makeDirectory()];
    const state = await open(createMemoryStore(), from);
    const { store, ledger } = state;
    const put = (key: string, value: unknown) =>
      store.commit([{ kind: "put", collection: "things", key, value }]);
    for (let more = 0; more < 1_200; more += 1) await put(String(more).padStart(4, "0"), "old");
    let count = 0;
    let text = "";
    for await (const line of state.exported("agents.example")) {
      text += line;
      count += 1;
      if (count % 100 !== 0) continue;
      // The one is in a page that was read, the other in one that was not; both change together.
      await store.commit([
        { kind: "put", collection: "things", key: "0000", value: count },
        { kind: "put", collection: "things", key: "1199", value: count },
        { kind: "delete", collection: "things", key: String(count).padStart(4, "0") },
      ]);
      ledger.add(makeDraft(ALICE));
      await ledger.settled();
    }
    const target = createMemoryStore();
    await importInto(target, to, text);
    const [first, last] = [await target.get("things", "0000"), await target.get("things", "1199")];
    expect(first).toBe(last);
    expect(first).toBeGreaterThanOrEqual(1_000);
    expect(await target.get("things", "0100")).toBeUndefined();
    expect(await target.get("things", "1000")).toBeUndefined();
    expect((await open(target, to)).ledger.headOf(ALICE)).toBeDefined();
  });

  it("keeps what is known of chains whose segments were taken away", async () => {
    const [from, to] = [makeDirectory(), makeDirectory()];
    const state = await open(createMemoryStore(), from);
    await grow(state, 2);
    const lines = await exported(state);
    const [header = "", ...rest] = lines;
    const moved = header.replace('"first_segment":1', '"first_segment":7');
    const file = rewritten([moved, ...rest.filter((line) => !line.startsWith('{"record"'))]);
    const target = createMemoryStore();
    await importInto(target, to, file);
    const next = await open(target, to);
    expect(next.ledger.headOf(ALICE)?.auditId).toBe(state.ledger.headOf(ALICE)?.auditId);
  });
});

/** The file with a last line that adds up. */
function rewritten(lines: readonly string[]): string {
  const body = lines.filter((line) => !line.startsWith('{"end"'));
  const entries = body.filter((line) => /^\{"(put|delete)"/.test(line)).length;
  const records = body.filter((line) => line.startsWith('{"record"')).length;
  const text = body.join("");
  const digest = sha256(text);
  return `${text}${JSON.stringify({ end: { entries, records, sha256: digest } })}\n`;
}

describe("a file that is not as it was written", () => {
  async function makeFile(): Promise<readonly string[]> {
    const state = await open(createMemoryStore(), makeDirectory());
    await grow(state, 4);
    return exported(state);
  }

  it("is refused wherever an octet is another, is gone, or all behind it", async () => {
    const octets = Buffer.from((await makeFile()).join(""));
    expect(await judge(octets)).toBeUndefined();
    await fc.assert(
      fc.asyncProperty(
        fc.nat(octets.length - 1),
        fc.constantFrom("other", "gone", "cut"),
        async (at, how) => {
          const [before, behind] = [octets.subarray(0, at), octets.subarray(at + 1)];
          const changed = Buffer.of(octets[at] === 0x78 ? 0x79 : 0x78);
          const made = { other: [before, changed, behind], gone: [before, behind], cut: [before] };
          expect(await judge(Buffer.concat(made[how]))).toBeInstanceOf(StateFileError);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("is refused with the line where a record does not follow, though all adds up", async () => {
    const lines = await makeFile();
    const at = lines.findIndex((line) => line.startsWith('{"record"'));
    const swapped = lines.toSpliced(at + 1, 1);
    expect(String(await judge(rewritten(swapped)))).toMatch(
      new RegExp(`line ${at + 2}: record [0-9a-f]{64} of agent a{64} follows record`),
    );
    const without = lines.toSpliced(at + 3, 1);
    expect(String(await judge(rewritten(without)))).toContain("is missing, which is known");
  });

  it.each([
    ['"version":1', '"version":2', "has version 2 of the format, this build reads version 1"],
    ['"agtpd-state"', '"tar"', "is no state of agtpd"],
    ['"first_segment":1', '"first_segment":0', "is damaged"],
    ['"first_segment":1', '"first_segment":100000000', "is damaged"],
  ])("is refused with %s as %s", async (was, is, message) => {
    const text = (await makeFile()).join("").replace(was, is);
    expect(String(await judge(text))).toContain(message);
  });

  const nested = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  const record = (agentId: string, method = "QUERY"): string => {
    const [at, previous] = ["2026-01-01T00:00:00.000Z", "0".repeat(64)];
    const payload = { agent_id: agentId, issued_at: at, method, previous_audit_id: previous };
    return JSON.stringify({ record: createRecordSigner().sign(JSON.stringify(payload)) });
  };

  it.each([
    ["an empty key", '{"put":["things",""],"value":1}', "cannot be kept"],
    ["NUL in a key", '{"put":["things","a\\u0000"],"value":1}', "cannot be kept"],
    ["half a character in a key", '{"put":["things","a\\ud800"],"value":1}', "cannot be kept"],
    ["a key that is too long", `{"delete":["things","${"k".repeat(600)}"]}`, "cannot be kept"],
    ["a value that is too deep", `{"put":["things","a"],"value":${nested}}`, "cannot be kept"],
    ["a record of nobody", record(""), "is no record"],
    ["a record of an agent with NUL", record("a\0"), "is no record"],
    ["a record of a method with NUL", record(ALICE, "\0"), "is no record"],
  ])("is refused with %s, though all adds up", async (_, line, message) => {
    const [header = ""] = await makeFile();
    const fault = await judge(rewritten([header, `${line}\n`]));
    expect(fault).toBeInstanceOf(StateFileError);
    expect(String(fault)).toContain(`line 2 ${message}`);
  });

  it("is refused in the words of the daemon that could not make it, from its first line on", async () => {
    const state = await open(createMemoryStore(), undefined);
    const [header] = await exported(state);
    const failed = '{"failed":"the store has no room left"}\n';
    for (const text of [failed, `${header}${failed}`]) {
      expect(String(await judge(text))).toContain("is not whole: the store has no room left");
    }
  });

  it("is refused with lines behind the end, and with none at all", async () => {
    const lines = await makeFile();
    for (const more of [lines[1], "\n", "half a line"]) {
      expect(String(await judge([...lines, more].join("")))).toContain("stands behind the end");
    }
    expect(String(await judge(""))).toContain("before it is whole");
    expect(String(await judge(`${lines[0]}{}\n`))).toContain("line 2 is none that an export has");
  });
});
