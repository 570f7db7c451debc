import { describe, expect, it } from "vitest";
import { verifyJournalChain } from "../../../src/state/journal/journal-chain.ts";
import { ChainClock, type ChainHead } from "../../../src/state/records/record-store.ts";
import { makeDirectory } from "../../support/directory.ts";
import { readJournal } from "../../support/records.ts";
import { makeFacts, makeLastingStore, openTestState } from "../../support/state.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);
const NOON = Date.parse("2026-06-01T12:00:00Z");
const HOUR = 3_600_000;

function makeClock(newestAt = 0) {
  const clock = {
    time: NOON,
    steps: [] as number[],
    pending: [] as { agentId: string; at: number; method: string }[],
    heads: new Map<string, ChainHead>(),
  };
  const end = (agentId: string, at: number): void => {
    clock.heads.set(agentId, { auditId: "0".repeat(64), at, method: "QUERY" });
  };
  const chainClock = new ChainClock({
    newestAt,
    heads: clock.heads,
    now: () => clock.time,
    onStepBack: (step) => clock.steps.push(step),
    pending: () => clock.pending,
  });
  return { clock, chainClock, end };
}

describe("ChainClock", () => {
  it("is the machine's clock while that goes on", () => {
    const { clock, chainClock, end } = makeClock();
    expect(chainClock.next(ALICE)).toBe(NOON);
    end(ALICE, NOON);
    clock.time += 5;
    expect(chainClock.next(ALICE)).toBe(NOON + 5);
    expect(clock.steps).toEqual([]);
  });

  it("keeps each chain at its own last record while the clock is behind it", () => {
    const { clock, chainClock, end } = makeClock(NOON);
    clock.time = NOON - HOUR;
    end(ALICE, NOON);
    end(BOB, NOON - 2 * HOUR);
    expect(chainClock.next(ALICE)).toBe(NOON);
    expect(chainClock.next(BOB)).toBe(NOON - HOUR);
    expect(chainClock.next("c".repeat(64))).toBe(NOON - HOUR);
    clock.time = NOON + 1;
    expect(chainClock.next(ALICE)).toBe(NOON + 1);
  });

  it("knows of records that are not written yet", () => {
    const { clock, chainClock } = makeClock();
    const at = chainClock.next(ALICE);
    clock.pending = [{ agentId: ALICE, at, method: "QUERY" }];
    clock.time -= HOUR;
    expect(chainClock.next(ALICE)).toBe(NOON);
    expect(chainClock.next(ALICE)).toBe(NOON);
  });

  it("tells of a step once, with its size, however many records follow", () => {
    const { clock, chainClock, end } = makeClock();
    chainClock.next(ALICE);
    end(ALICE, NOON);
    clock.time -= HOUR;
    for (let more = 0; more < 10; more += 1) chainClock.next(ALICE);
    clock.time -= 7;
    for (let more = 0; more < 10; more += 1) chainClock.next(ALICE);
    expect(clock.steps).toEqual([HOUR, 7]);
  });

  it("tells at once of a step that happened before the start", () => {
    expect(makeClock(NOON + HOUR).clock.steps).toEqual([HOUR]);
  });
});

// The verifier calls a chain broken whose time runs backwards.
describe("a server whose clock steps back", () => {
  it("writes chains that verify, before and after a restart, and says so once a step", async () => {
    const [directory, store] = [makeDirectory(), makeLastingStore()];
    let time = NOON;
    const now = (): number => time;
    let state = await openTestState(directory, store, { now });
    for (const step of [0, 10, -HOUR, 1, -500, 1]) {
      time += step;
      // Two in one group: the second one's time is no head's yet.
      for (const agent of [ALICE, BOB, ALICE]) state.attributor.chained(makeFacts(agent));
      if (step === -HOUR) time -= 1;
      state.attributor.chained(makeFacts(ALICE));
      await state.ledger.settled();
    }
    const told = state.notices.map(({ event, level, fields }) => [event, level, fields["step_ms"]]);
    expect(told).toEqual([
      ["clock-stepped-back", "warn", HOUR],
      ["clock-stepped-back", "warn", 1],
      ["clock-stepped-back", "warn", 500],
    ]);
    await state.close();
    time -= HOUR;
    state = await openTestState(directory, store, { now });
    expect(state.notices).toHaveLength(1);
    state.attributor.chained(makeFacts(ALICE));
    await state.close();
    for (const agent of [ALICE, BOB]) {
      const report = await verifyJournalChain({
        directory: `${directory}/journal`,
        agentId: agent,
        keys: [],
      });
      expect(report?.broken).toBeUndefined();
    }
    const newest = readJournal(`${directory}/journal`).at(-1)?.payload["issued_at"];
    expect(newest).toBe(new Date(NOON + 10).toISOString());
  });
});
