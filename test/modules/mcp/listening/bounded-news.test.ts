/** News for readers that are slow. */
import { describe, expect, it } from "vitest";
import { BoundedNews } from "../../../../src/modules/mcp/listening/audience.ts";

/** News on a stream, as the library sends them. */
function openNews() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let cancelled: unknown;
  let sent = 0;
  const stream = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
    cancel: (reason) => {
      cancelled = reason;
    },
  });
  const news = new BoundedNews(() => {
    sent += 1;
    controller?.enqueue(Buffer.from(`${sent}`));
  });
  const headers = { "content-type": "text/event-stream" };
  const watched = news.watch(new Response(stream, { status: 200, headers }));
  const reader = watched.body?.getReader();
  return {
    ...{ news, watched },
    sent: () => sent,
    cancelled: () => cancelled,
    end: () => controller?.close(),
    cancel: (reason: string) => reader?.cancel(reason),
    read: async () => Buffer.from((await reader?.read())?.value ?? "").toString(),
  };
}

describe("BoundedNews", () => {
  it("reaches a reader as it is sent, with the response as it was", async () => {
    const { news, watched, read, end } = openNews();
    expect([watched.status, watched.headers.get("content-type")]).toEqual([
      200,
      "text/event-stream",
    ]);
    for (const number of ["1", "2", "3"]) {
      news.tell();
      expect(await read()).toBe(number);
    }
    end();
    expect(await read()).toBe("");
  });

  it("does not heap up before a reader that does not read, and says the last of it later", async () => {
    const { news, sent, read } = openNews();
    for (let count = 0; count < 10_000; count += 1) news.tell();
    expect(sent()).toBe(8);
    for (let number = 1; number <= 8; number += 1) expect(await read()).toBe(`${number}`);
    expect(sent()).toBe(9);
    expect(await read()).toBe("9");
    expect(sent()).toBe(9);
  });

  it("ends with its reader", async () => {
    const { cancel, cancelled } = openNews();
    await cancel("gone");
    expect(cancelled()).toBe("gone");
  });

  it("has nothing to say of what was before the stream", () => {
    let sent = 0;
    const news = new BoundedNews(() => {
      sent += 1;
    });
    for (let count = 0; count < 100; count += 1) news.tell();
    const before = sent;
    news.watch(new Response(new ReadableStream()));
    expect(sent).toBe(before);
    news.tell();
    expect(sent).toBe(before + 1);
  });
});
