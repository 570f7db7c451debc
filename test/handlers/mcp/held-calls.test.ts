/** Calls that stop to ask, as a server of the older protocol holds them. */
import { describe, expect, it } from "vitest";
import { type CallListener, HELD_LIMITS, HeldCalls } from "../../../src/handlers/mcp/held-calls.ts";
import type { ToolAnswer } from "../../../src/handlers/mcp/mcp-connection.ts";
import { PATIENCE } from "../../support/patience.ts";

const QUESTION = { message: "which?" };
const LISTENER: CallListener = { signal: new AbortController().signal };

/** A call whose server asks at once, and answers with the reply. */
function asking(calls: HeldCalls, caller: string | undefined = "alma") {
  let signal: AbortSignal | undefined;
  let fail: (error: Error) => void = () => undefined;
  const outcome = calls.begin(
    (ending) => {
      signal = ending;
      return new Promise<ToolAnswer>((resolve, reject) => {
        fail = reject;
        ending.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
        void calls.question(QUESTION).then((reply) => resolve({ kind: "result", result: reply }));
      });
    },
    caller,
    LISTENER,
  );
  return { outcome, isEnded: () => signal?.aborted, fail: (error: Error) => fail(error) };
}

async function held(calls: HeldCalls, caller?: string): Promise<string> {
  const outcome = await asking(calls, caller).outcome;
  if (outcome.kind !== "held") throw new Error("it was not held");
  return outcome.id;
}

describe("HeldCalls", () => {
  it("gives the answer to the server that waits, once", async () => {
    const calls = new HeldCalls();
    const id = await held(calls);
    expect(calls.has(id)).toBe(true);
    const done = await calls.resume(id, { seat: 7 }, LISTENER);
    expect(done).toEqual({ kind: "result", result: { action: "accept", content: { seat: 7 } } });
    expect(calls.resume(id, {}, LISTENER)).toBeUndefined();
  });

  it("wait for nothing once they are over, also where the server asked in the same moment", async () => {
    const calls = new HeldCalls();
    const replies: unknown[] = [];
    for (let count = 0; count <= HELD_LIMITS.perCaller; count += 1) {
      const ending = calls.begin(
        () => {
          replies.push(calls.question(QUESTION));
          return Promise.resolve({ kind: "result", result: {} } as const);
        },
        "alma",
        LISTENER,
      );
      expect(await ending).toEqual({ kind: "result", result: {} });
    }
    const declined = replies.map(() => ({ action: "decline" }));
    expect(await Promise.all(replies)).toEqual(declined);
    expect((await asking(calls).outcome).kind).toBe("held");
  });

  it("that are closed end those that wait, and hold no others", async () => {
    const calls = new HeldCalls();
    const waiting = asking(calls);
    const outcome = await waiting.outcome;
    calls.close();
    expect(waiting.isEnded()).toBe(true);
    expect(outcome.kind === "held" && calls.has(outcome.id)).toBe(false);
    expect(await asking(calls).outcome).toEqual({ kind: "result", result: { action: "decline" } });
  });

  it("declines where nobody could come back, and where too many wait", async () => {
    const calls = new HeldCalls({ ...HELD_LIMITS, calls: 3, perCaller: 2 });
    const declined = { kind: "result", result: { action: "decline" } };
    const strangers = calls.begin(
      async () => ({ kind: "result", result: await calls.question(QUESTION) }),
      undefined,
      LISTENER,
    );
    expect(await strangers).toEqual(declined);
    await held(calls);
    const second = await held(calls);
    expect(await asking(calls).outcome).toEqual(declined);
    await held(calls, "boris");
    expect(await asking(calls, "carla").outcome).toEqual(declined);
    calls.drop(second);
    await held(calls, "carla");
  });

  it("declines a second question before the first has its answer", async () => {
    const calls = new HeldCalls();
    const replies: unknown[] = [];
    const outcome = await calls.begin(
      async () => {
        const both = [calls.question(QUESTION), calls.question({ message: "and how?" })];
        replies.push(...(await Promise.all(both)));
        return { kind: "result", result: {} };
      },
      "alma",
      LISTENER,
    );
    expect(outcome).toMatchObject({ kind: "held", question: QUESTION });
    const id = outcome.kind === "held" ? outcome.id : "";
    expect(await calls.resume(id, { seat: 7 }, LISTENER)).toEqual({ kind: "result", result: {} });
    expect(replies).toEqual([{ action: "accept", content: { seat: 7 } }, { action: "decline" }]);
  });

  it("declines a question that may be of either of two calls", async () => {
    const calls = new HeldCalls();
    const other = new AbortController();
    const running = calls.begin(
      (signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error()))),
      "boris",
      { signal: other.signal },
    );
    const { outcome } = asking(calls);
    expect(await outcome).toEqual({ kind: "result", result: { action: "decline" } });
    other.abort();
    await expect(running).rejects.toThrow();
  });

  it("ends a call that gets no answer, and tells of one that its server has lost", async () => {
    const calls = new HeldCalls();
    const lost: string[] = [];
    calls.onLost((id) => lost.push(id));
    const first = asking(calls);
    const dropped = await first.outcome;
    if (dropped.kind === "held") calls.drop(dropped.id);
    expect(first.isEnded()).toBe(true);
    const second = asking(calls);
    const gone = await second.outcome;
    second.fail(new Error("the connection was closed"));
    const id = gone.kind === "held" ? gone.id : "";
    await expect.poll(() => lost, PATIENCE).toEqual([id]);
    expect(calls.has(id)).toBe(false);
  });

  it("ends a call by whoever waits for it, and not by whoever has left it", async () => {
    const calls = new HeldCalls();
    const leaving = new AbortController();
    let ending: AbortSignal | undefined;
    const outcome = await calls.begin(
      (signal) => {
        ending = signal;
        return calls.question(QUESTION).then(() => new Promise<never>(() => undefined));
      },
      "alma",
      { signal: leaving.signal },
    );
    leaving.abort();
    expect(ending?.aborted).toBe(false);
    const waiting = new AbortController();
    const id = outcome.kind === "held" ? outcome.id : "";
    void calls.resume(id, {}, { signal: waiting.signal });
    waiting.abort();
    expect(ending?.aborted).toBe(true);
  });
});
