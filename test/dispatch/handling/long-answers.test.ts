/** Long answers are encoded in turns before they are given, whatever is done with them then. */
import { describe, expect, it } from "vitest";
import { isShared } from "../../../src/base/kept-text.ts";
import { TaskQueue } from "../../../src/base/task-queue.ts";
import { withLongAnswers } from "../../../src/dispatch/handling/long-answers.ts";
import type { ExchangeView, Outcome } from "../../../src/dispatch/routes/route.ts";
import { encodeBody } from "../../../src/dispatch/stamp.ts";
import type { Call } from "../../../src/handlers/handler.ts";
import { countTurns } from "../../support/event-loop.ts";

const CALL = { signal: new AbortController().signal } as Call;
const EXCHANGE = { caller: {}, peer: { address: "127.0.0.1" } } as ExchangeView;
const LONG = { list: Array.from({ length: 200_000 }, (_, at) => `item ${at}`) };

function answering(outcome: Outcome, work = new TaskQueue({ sliceMs: 1 })): Promise<Outcome> {
  const handler = withLongAnswers(() => Promise.resolve(outcome), work);
  return handler(CALL, EXCHANGE) as Promise<Outcome>;
}

function textOf(body: unknown): string {
  const reply = { status: 200, contentType: "", headers: undefined, refusal: undefined } as const;
  return Buffer.from(encodeBody({ ...reply, body })).toString();
}

describe("withLongAnswers", () => {
  it("encodes a long answer in turns with everybody else, and as it was", async () => {
    const loop = countTurns();
    const outcome = await answering({ body: LONG });
    loop.stop();
    expect(outcome).toEqual({ body: LONG });
    expect(loop.turns).toBeGreaterThanOrEqual(4);
    expect(isShared(LONG)).toBe(true);
    expect(textOf(LONG)).toBe(JSON.stringify(LONG));
  });

  it("leaves the answer as it is where a handler has dispatched the request", async () => {
    const body = { ...LONG };
    const handler = withLongAnswers(() => Promise.resolve({ body }), new TaskQueue({ sliceMs: 1 }));
    expect(await handler(CALL, { ...EXCHANGE, inner: { parent: EXCHANGE } })).toEqual({ body });
    expect(isShared(body)).toBe(false);
  });

  it.each([{ list: ["short"] }, "a text", null, new Uint8Array(100_000)])(
    "gives any other answer as it is",
    async (body) => {
      const none = {
        pace: (): never => {
          throw new Error("it has no turn");
        },
      };
      expect(await answering({ body }, none as unknown as TaskQueue)).toEqual({ body });
      const refusal = { error: "none", message: "there is none" };
      expect(await answering(refusal, none as unknown as TaskQueue)).toBe(refusal);
    },
  );
});
