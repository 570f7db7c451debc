/** What is received of a model's answer, however its server cuts it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundedBody } from "../../../../src/modules/openwop/runtime/chat-model.ts";
import { MAX_ANSWER_BYTES } from "../../../../src/modules/openwop/runtime/completion.ts";
import { countTurns } from "../../../support/event-loop.ts";

interface Received {
  readonly text: string;
  readonly fault: unknown;
  readonly isDiscarded: boolean;
  /** The longest slice. */
  readonly longest: number;
  /** How many turns of the event loop others had meanwhile. */
  readonly turns: number;
}

async function receive(chunks: Iterable<Uint8Array>, isEventStream: boolean): Promise<Received> {
  let isDiscarded = false;
  const others = countTurns();
  const body = (async function* () {
    yield* chunks;
  })();
  const discard = (): void => {
    isDiscarded = true;
  };
  const slices: Uint8Array[] = [];
  let fault: unknown;
  try {
    for await (const slice of boundedBody({ isEventStream, body, discard })) slices.push(slice);
  } catch (error) {
    fault = error;
  }
  others.stop();
  return {
    text: Buffer.concat(slices).toString("latin1"),
    longest: Math.max(0, ...slices.map(({ length }) => length)),
    ...{ fault, isDiscarded, turns: others.turns },
  };
}

function cut(text: string, sizes: readonly number[]): Uint8Array[] {
  const bytes = Buffer.from(text, "latin1");
  const chunks: Uint8Array[] = [];
  let at = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return [...chunks, bytes.subarray(at)].filter(({ length }) => length > 0);
}

describe("the body of a model's answer", () => {
  const line = fc.constantFrom("data: {}", ": x", "", "data: [DONE] ", "xdata: [DONE]", "[DONE]");
  const done = fc.constantFrom("data: [DONE]\n", "data:[DONE]\r\n");

  it("ends behind the last event that its server says it has, however it was cut", async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(fc.array(line), done, sizes, async (lines, end, cuts) => {
        const told = lines.map((one) => `${one}\n`).join("") + end;
        const whole = await receive(cut(told, []), true);
        const pieces = await receive(cut(`${told}`, cuts), true);
        expect(pieces.text).toBe(told);
        expect(whole.text).toBe(told);
        expect([whole.isDiscarded, pieces.isDiscarded]).toEqual([true, true]);
      }),
    );
  });

  it("is not discarded where it ends by itself", async () => {
    const { text, isDiscarded } = await receive(cut("data: 1\n\ndata: [DON", [4]), true);
    expect([text, isDiscarded]).toEqual(["data: 1\n\ndata: [DON", false]);
    const document = await receive(cut("data: [DONE]\n{}", [3]), false);
    expect([document.text, document.isDiscarded]).toEqual(["data: [DONE]\n{}", false]);
  });

  it("is handed on in slices, between which others have their turn", async () => {
    const { longest, turns } = await receive([Buffer.alloc(65_536, "data: 1\n")], true);
    expect(longest).toBe(4096);
    expect(turns).toBeGreaterThanOrEqual(15);
  });

  const chunk = Buffer.alloc(65_536, "x");
  const times = (count: number, bytes: Uint8Array): Uint8Array[] =>
    Array.from({ length: count }, () => bytes);
  it.each([
    ["a document", times(17, chunk), false, `longer than ${MAX_ANSWER_BYTES} bytes`],
    ["a line of a stream", times(17, chunk), true, `longer than ${MAX_ANSWER_BYTES} bytes`],
    ["a stream", times(300, Buffer.alloc(65_536, `${"x".repeat(1023)}\n`)), true, "16777216 bytes"],
    ["a stream of nothing", times(5, Buffer.alloc(65_536, "\n")), true, "more than 262144 lines"],
  ])("errs, and gives up the rest, when %s does not end", async (_, chunks, isStream, message) => {
    const { fault, isDiscarded } = await receive(chunks, isStream);
    expect(String(fault)).toContain(message);
    expect(isDiscarded).toBe(true);
  });

  it("is given up by a reader that leaves", async () => {
    let isDiscarded = false;
    const body = (async function* () {
      for (;;) yield Buffer.from("data: 1\n");
    })();
    const discard = (): void => {
      isDiscarded = true;
    };
    for await (const _ of boundedBody({ isEventStream: true, body, discard })) break;
    expect(isDiscarded).toBe(true);
  });
});
