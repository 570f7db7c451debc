/**
 * What is made behind the ready line: nobody waits for it, and all that is said of it is heard; and what that line
 * waits for.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DaemonOptions } from "../../src/app/build-daemon.ts";
import { MODULES } from "../../src/app/modules.ts";
import type { AnyModule } from "../../src/app/provision.ts";
import { openServerState } from "../../src/app/server-state.ts";
import type { Paced } from "../../src/base/paced.ts";
import type { Problem } from "../../src/base/problem.ts";
import { THE_SERVER } from "../../src/base/task-queue.ts";
import { Intermediates } from "../../src/server/peer-certificate.ts";
import { openDaemon } from "../support/daemon.ts";

const DISCOVER = "AGTP/1.0 DISCOVER /\r\nContent-Length: 0\r\n\r\n";
const LATE: Problem = { file: "late.json", key: "", message: "is late", severity: "warning" };

/** Says in the log what is asked of it. */
function speaking(keep: () => Promise<readonly Problem[]>): AnyModule {
  return {
    name: "speaking",
    takes: {},
    provision: async ({ log }) => ({
      start: () => log.info({ event: "began" }, "serves"),
      warmUp: () => log.info({ event: "warmed-up" }, "warms up"),
      keep: () => {
        log.info({ event: "kept" }, "keeps");
        return keep();
      },
    }),
  };
}

/** A process that shares its store, and whose lease ended while it was built; it has one again once it asks. */
function lapsedSeat(renew: () => Promise<void>): NonNullable<DaemonOptions["place"]> {
  let isFresh = false;
  const view = {
    get isFresh() {
      return isFresh;
    },
    async catchUp() {
      await renew();
      isFresh = true;
    },
  };
  return {
    async openState(config, watch) {
      const opening = await openServerState(config, false, watch);
      if (opening.opened === undefined) return opening;
      const { opened } = opening;
      return { opened: { ...opened, state: { ...opened.state, view } } };
    },
    servesHttp: true,
    ticketKeys: () => Buffer.alloc(48),
    intermediates: new Intermediates(),
    shareOf: (bound) => bound,
  };
}

describe("the ready line", () => {
  it("waits for a lease that ended while the daemon was built", async () => {
    const { connect } = await openDaemon(
      {},
      {},
      MODULES,
      lapsedSeat(async () => undefined),
    );
    const client = await connect();
    client.write(DISCOVER);
    expect((await client.replies(1))[0]?.status).toBe(200);
  });

  it("does not wait for a store that cannot be reached", async () => {
    const seat = lapsedSeat(() => Promise.reject(new Error("no answer")));
    const { connect } = await openDaemon({}, {}, MODULES, seat);
    const client = await connect();
    client.write(DISCOVER);
    expect((await client.replies(1))[0]?.status).toBe(503);
  });
});

describe("the warm-up of a daemon", () => {
  it("begins behind the ready line, and what it finds is told", async () => {
    const module = speaking(async () => [LATE]);
    const { log, close } = await openDaemon({}, {}, [...MODULES, module]);
    await close();
    const told = log.map(({ event, file }) => (event === "problem" ? file : event));
    const awaited = ["began", "listening", "kept", "warmed-up", LATE.file];
    expect(told.filter((one) => awaited.includes(String(one)))).toEqual(awaited);
  });

  it("is logged where it fails, and the daemon serves", async () => {
    const module = speaking(() => Promise.reject(new Error("no room")));
    const { log, connect, close } = await openDaemon({}, {}, [...MODULES, module]);
    const client = await connect();
    client.write(DISCOVER);
    expect((await client.replies(1))[0]?.status).toBeLessThan(500);
    await close();
    expect(log.filter(({ event }) => event === "fault")).toHaveLength(1);
  });

  it("keeps what it has to keep also where the daemon ends at once", async () => {
    const { directory, close } = await openDaemon();
    await close();
    expect(existsSync(join(directory, ".agtp/manifest.json"))).toBe(true);
  });
});

/** Work of the server's own that is not done before it stops. */
const UNDONE: AnyModule = {
  name: "undone",
  takes: {},
  provision: async ({ work, stopping: { signal } }) => ({
    start: () => void work.pace(until(signal), THE_SERVER, new AbortController().signal),
  }),
};

function* until(signal: AbortSignal): Paced<void> {
  while (!signal.aborted) yield;
}

describe("a request that waits for what the warm-up makes", () => {
  it.each([
    { method: "QUERY", parameters: { intent: "find a room" } },
    { method: "PLAN", parameters: { goal: "find a room" } },
  ])("is answered by a daemon that stops meanwhile: $method", async ({ method, parameters }) => {
    const { daemon, log, connect } = await openDaemon({}, {}, [UNDONE, ...MODULES]);
    const client = await connect();
    const body = JSON.stringify(parameters);
    const head = `AGTP/1.0 ${method} /\r\nContent-Length: ${body.length}\r\n\r\n`;
    client.write(`AGTP/1.0 QUERY /nowhere\r\nContent-Length: 0\r\n\r\n${head}${body}`);
    await client.replies(1);
    const draining = daemon.drain();
    expect((await client.replies(2))[1]?.status).toBeLessThan(500);
    await draining;
    expect(log.filter(({ event }) => event === "fault")).toEqual([]);
  });
});
