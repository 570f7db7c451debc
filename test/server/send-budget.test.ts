import { describe, expect, it, onTestFinished } from "vitest";
import { SendBudget } from "../../src/server/connection-limits.ts";

const IDLE_MS = 1_000;

function createBudget(sendBufferTotalBytes: number) {
  const budget = new SendBudget({ sendBufferTotalBytes, idleTimeoutMs: IDLE_MS });
  const dropped: string[] = [];
  const open = (name: string) => budget.open(() => dropped.push(name));
  return { budget, dropped, open };
}

const mebibytes = (count: number): Uint8Array => new Uint8Array(count * 1024 * 1024);

describe("SendBudget", () => {
  it("counts a body once, however many wait for it", () => {
    const { budget, dropped, open } = createBudget(mebibytes(2).length);
    const body = mebibytes(1);
    const accounts = ["a", "b", "c"].map(open);
    for (const account of accounts) account.hold(body);
    expect(budget.bytes).toBe(body.length);
    accounts[0]?.close();
    accounts[1]?.close();
    expect(budget.bytes).toBe(body.length);
    accounts[2]?.release(body);
    expect(budget.bytes).toBe(0);
    expect(dropped).toEqual([]);
  });

  it("drops who has taken nothing for the longest when too much waits", () => {
    const { budget, dropped, open } = createBudget(1_000);
    const slow = open("slow");
    slow.wait(400);
    const quick = open("quick");
    quick.wait(400);
    quick.takenAt = (slow.takenAt ?? 0) + 1;
    open("new").wait(400);
    expect(dropped).toEqual(["slow"]);
    expect(budget.bytes).toBe(800);
  });

  it("drops who takes nothing within two seconds once the process is about to end", () => {
    const budget = new SendBudget({ sendBufferTotalBytes: 1_000, idleTimeoutMs: 60_000 });
    const dropped: string[] = [];
    const slow = budget.open(() => dropped.push("slow"));
    slow.wait(1);
    const later = (slow.takenAt ?? 0) + 2_001;
    budget.sweep(later);
    expect(dropped).toEqual([]);
    const stop = budget.hurry();
    onTestFinished(stop);
    budget.sweep(later - 2);
    expect(dropped).toEqual([]);
    budget.sweep(later);
    expect(dropped).toEqual(["slow"]);
  });

  it("forgets a slow reader that has taken everything", () => {
    const { dropped, open } = createBudget(1_000);
    const once = open("once");
    once.wait(900);
    once.rest();
    open("other").wait(900);
    expect(dropped).toEqual([]);
  });

  it("lets somebody have a reply that is larger than all that may wait", () => {
    const { dropped, open } = createBudget(mebibytes(1).length);
    const reader = open("reader");
    reader.hold(mebibytes(3));
    reader.wait(64);
    const others = ["a", "b"].map(open);
    for (const other of others) other.wait(1_000);
    expect(dropped).toEqual([]);
  });

  it("lets only one at a time have a reply of that size", () => {
    const { budget, dropped, open } = createBudget(mebibytes(1).length);
    const first = open("first");
    first.hold(mebibytes(3));
    first.wait(64);
    const second = open("second");
    second.hold(mebibytes(4));
    expect(dropped).toEqual(["first"]);
    expect(budget.bytes).toBe(mebibytes(4).length);
  });

  it("drops who takes nothing for the idle timeout, counted from what was taken last", () => {
    const { budget, dropped, open } = createBudget(1_000_000);
    const silent = open("silent");
    silent.wait(10);
    const reading = open("reading");
    reading.wait(10);
    const began = silent.takenAt ?? 0;
    reading.takenAt = began + IDLE_MS / 2;
    budget.sweep(began + IDLE_MS + 1);
    expect(dropped).toEqual(["silent"]);
    budget.sweep(began + 1.5 * IDLE_MS + 1);
    expect(dropped).toEqual(["silent", "reading"]);
    expect(budget.bytes).toBe(0);
  });
});
