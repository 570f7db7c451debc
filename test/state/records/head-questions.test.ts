import { expect, it } from "vitest";
import { HeadQuestions } from "../../../src/state/records/ledger.ts";
import type { ChainHead } from "../../../src/state/records/record-store.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);

/** A store whose answers are as old as the question. */
function makeStore() {
  const heads = new Map<string, ChainHead>();
  const asked: (readonly string[])[] = [];
  const answers: (() => void)[] = [];
  const questions = new HeadQuestions(async (agentIds) => {
    asked.push(agentIds);
    const now = new Map(heads);
    await new Promise<void>((resolve) => answers.push(resolve));
    return now;
  });
  const move = (agentId: string, auditId: string): void =>
    void heads.set(agentId, { auditId, at: 1, method: "QUERY" });
  const answer = async (): Promise<void> => {
    answers.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { questions, asked, move, answer };
}

it("are shared by all who ask while one is under way, and older than none of them", async () => {
  const { questions, asked, move, answer } = makeStore();
  move(ALICE, "one");
  const first = questions.ask(ALICE);
  await new Promise((resolve) => setImmediate(resolve));
  move(ALICE, "two");
  const later = Promise.all([questions.ask(ALICE), questions.ask(BOB), questions.ask(ALICE)]);
  await answer();
  await answer();
  expect((await first)?.auditId).toBe("one");
  expect((await later).map((head) => head?.auditId)).toEqual(["two", undefined, "two"]);
  expect(asked).toEqual([[ALICE], [ALICE, BOB]]);
});

it("are asked again after one that failed", async () => {
  let isBroken = true;
  const questions = new HeadQuestions(async () => {
    if (isBroken) throw new Error("gone");
    return new Map();
  });
  await expect(questions.ask(ALICE)).rejects.toThrow("gone");
  isBroken = false;
  expect(await questions.ask(ALICE)).toBeUndefined();
});
