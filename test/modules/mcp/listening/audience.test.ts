/** Who is told that its tools are others, and how often. */
import { describe, expect, it } from "vitest";
import { TaskQueue } from "../../../../src/base/task-queue.ts";
import type { McpCaller, McpFront } from "../../../../src/modules/mcp/front.ts";
import {
  Audience,
  BoundedNews,
  ExpiryTimer,
} from "../../../../src/modules/mcp/listening/audience.ts";
import type { ListedTool } from "../../../../src/modules/mcp/tools/toolbox.ts";

function toolsCalled(...names: readonly string[]): readonly ListedTool[] {
  return names.map((name) => ({ name, description: { current: { name } } as never }));
}

function callerOf(agentId: string): McpCaller {
  return { fields: new Map([["agent-id", agentId]]), key: agentId } as unknown as McpCaller;
}

/** An audience whose agents are shown what a test says. */
function openAudience() {
  const shown = new Map<string, readonly ListedTool[]>();
  let looks = 0;
  const front: Pick<McpFront, "projection"> = {
    projection: {
      toolsOf: ({ key }) => {
        looks += 1;
        return shown.get(key) ?? [];
      },
      validUntil: () => Number.POSITIVE_INFINITY,
    },
  };
  const stopping = new AbortController();
  const work = new TaskQueue({ sliceMs: 4 });
  const audience = new Audience({ work, stopping: stopping.signal, now: () => 0 });
  audience.serve(front);
  const heard: string[] = [];
  return {
    ...{ audience, shown, heard, stopping },
    looks: () => looks,
    listen: (agentId: string, name = agentId) =>
      audience.add(front, callerOf(agentId), () => heard.push(name)),
    /** What was begun before it is done. */
    settled: async () => {
      for (let round = 0; round < 20; round += 1) await new Promise((next) => setImmediate(next));
    },
    serve: () => audience.serve(front),
  };
}

describe("Audience", () => {
  it("tells those whose tools are others, and nobody else", async () => {
    const { audience, shown, heard, listen, settled } = openAudience();
    shown.set("a", toolsCalled("one"));
    for (const agentId of ["a", "b"]) listen(agentId);
    shown.set("a", toolsCalled("one", "two"));
    shown.set("b", toolsCalled("three"));
    audience.changed("a");
    await settled();
    expect(heard).toEqual(["a"]);
  });

  it("tells nobody of tools that are the same, though they were made anew", async () => {
    const { audience, shown, heard, listen, settled, serve } = openAudience();
    shown.set("a", toolsCalled("one", "two"));
    listen("a");
    shown.set("a", toolsCalled("one", "two"));
    serve();
    audience.changed("a");
    await settled();
    expect(heard).toEqual([]);
  });

  it("tells once of all that has happened meanwhile, and again of what happens later", async () => {
    const { audience, shown, heard, listen, settled } = openAudience();
    listen("a");
    for (let count = 0; count < 1_000; count += 1) {
      shown.set("a", toolsCalled(`tool ${count}`));
      audience.changed("a");
    }
    await settled();
    expect(heard).toEqual(["a"]);
    shown.set("a", []);
    audience.changed("a");
    await settled();
    expect(heard).toEqual(["a", "a"]);
  });

  it("does not look for agents of whom nobody listens", async () => {
    const { audience, looks, listen, settled } = openAudience();
    listen("a").end();
    const before = looks();
    for (const agentId of ["a", "b"]) audience.changed(agentId);
    await settled();
    expect(looks()).toBe(before);
  });

  it("tells a client that comes by a deployment which is served no more", async () => {
    const { audience, shown, heard, listen, settled } = openAudience();
    shown.set("a", toolsCalled("one"));
    const tools = toolsCalled("one", "two");
    audience.serve({
      projection: { toolsOf: () => tools, validUntil: () => Number.POSITIVE_INFINITY },
    });
    await settled();
    listen("a");
    await settled();
    expect(heard).toEqual(["a"]);
  });

  it("tells nobody once the server stops", async () => {
    const { audience, shown, heard, listen, settled, stopping } = openAudience();
    listen("a");
    shown.set("a", toolsCalled("one"));
    stopping.abort(new Error("the server is stopping"));
    audience.changed("a");
    await settled();
    expect(heard).toEqual([]);
  });
});

describe("ExpiryTimer", () => {
  it("calls back with what is over, the first of it first", async () => {
    const over: string[] = [];
    let seen: () => void = () => undefined;
    const both = new Promise<void>((resolve) => {
      seen = () => over.length === 2 && resolve();
    });
    const timer = new ExpiryTimer(
      () => performance.now(),
      (key) => {
        over.push(key);
        seen();
      },
    );
    const now = performance.now();
    timer.set("late", now + 40);
    timer.set("never", Number.POSITIVE_INFINITY);
    timer.set("gone", now + 10);
    timer.set("early", now + 20);
    timer.set("gone", Number.POSITIVE_INFINITY);
    timer.set("far", now + 1e15);
    await both;
    expect(over).toEqual(["early", "late"]);
    timer.stop();
  });
});

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
