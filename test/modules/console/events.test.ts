/** Onlookers of the console that do not read what they are told. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, type Socket } from "node:net";
import { fastify } from "fastify";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createEvents } from "../../../src/modules/console/events.ts";
import type { SignedIn } from "../../../src/modules/console/sessions.ts";
import { Traffic } from "../../../src/modules/console/traffic.ts";
import { PATIENCE } from "../../support/patience.ts";

const NINA: SignedIn = {
  person: { id: "link:Nina", name: "Nina", role: "viewer", via: "link" },
  ...{ csrf: "", usedAt: 0, token: "" },
};
const OVERVIEW = { text: "x".repeat(60_000) };
/** Told whole, they would be 30 MB. */
const OVERVIEWS = 500;
/** What may wait for one before nothing more is written, and the news that was written last. */
const MOST = 65_536 + 2 * 61_000;

type Events = ReturnType<typeof createEvents>;

/** Serves the news until the test is over; the connections are the server's ends. */
async function serve(events: Events, signedIn: Parameters<Events["register"]>[1]) {
  const app = fastify();
  const sockets: Socket[] = [];
  app.server.on("connection", (socket) => sockets.push(socket));
  events.register(app, signedIn);
  await app.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(async () => {
    events.close();
    app.server.closeAllConnections();
    await app.close();
  });
  const { port } = app.server.address() as AddressInfo;
  return { port, sockets };
}

describe("an onlooker that never reads", () => {
  it("has nothing queue for it, and others hear all the same", async () => {
    let told = 0;
    let sayDone: () => void = () => undefined;
    const done = new Promise<void>((resolve) => {
      sayDone = resolve;
    });
    const events = createEvents({
      traffic: new Traffic(),
      tickMs: 1,
      overview: async () => {
        told += 1;
        if (told === OVERVIEWS) sayDone();
        return OVERVIEW;
      },
      waiting: () => told,
      changes: () => 0,
      isStanding: () => true,
      reportFault: (error) => {
        throw error;
      },
    });
    const { port, sockets } = await serve(events, () => NINA);
    await ask(port, (socket) => void socket.pause());
    let heard = 0;
    await ask(port, (socket) => {
      socket.on("data", (chunk: Buffer) => {
        heard += chunk.length;
      });
    });
    await done;
    const [deaf] = sockets;
    expect(deaf?.writableLength).toBeGreaterThan(0);
    expect(deaf?.writableLength).toBeLessThan(MOST);
    expect(heard).toBeGreaterThan(OVERVIEWS * OVERVIEW.text.length * 0.5);
  });
});

describe("onlookers", () => {
  /** Those of whichever person a request names, each by a connection of its own. */
  async function openEvents() {
    const sessions = { areStanding: true };
    const events = createEvents({
      ...{ traffic: new Traffic(), tickMs: 1, overview: async () => OVERVIEW },
      ...{ waiting: () => 1, changes: () => 0, isStanding: () => sessions.areStanding },
      reportFault: (error) => {
        throw error;
      },
    });
    const served = await serve(events, ({ headers }) => {
      const { name = "Nina" } = headers as { readonly name?: string };
      return { ...NINA, person: { ...NINA.person, id: `link:${name}` } };
    });
    return { ...served, sessions };
  }

  it("leave places for other people", async () => {
    const { port } = await openEvents();
    const begin = async (name: string): Promise<number> => {
      const gone = new AbortController();
      onTestFinished(() => gone.abort());
      const init = { headers: { name }, signal: gone.signal };
      return (await fetch(`http://127.0.0.1:${port}/api/events`, init)).status;
    };
    const statuses: number[] = [];
    for (let count = 0; count < 17; count += 1) statuses.push(await begin("Nina"));
    expect(statuses).toEqual([...Array.from({ length: 16 }, () => 200), 429]);
    expect(await begin("Otto")).toBe(200);
  });

  it("that do not read leave their places once their session is over", async () => {
    const { port, sockets, sessions } = await openEvents();
    await ask(port, (socket) => void socket.pause());
    await vi.waitFor(() => expect(sockets[0]?.writableLength).toBeGreaterThan(65_536), PATIENCE);
    const closed = once(sockets[0] as Socket, "close");
    sessions.areStanding = false;
    await closed;
  });
});

describe("an onlooker", () => {
  it("is told that escalations are others, be there as many as before", async () => {
    let changes = 0;
    const events = createEvents({
      ...{ traffic: new Traffic(), tickMs: 1, overview: async () => OVERVIEW },
      ...{ waiting: () => 1, changes: () => changes, isStanding: () => true },
      reportFault: (error) => {
        throw error;
      },
    });
    const app = fastify();
    events.register(app, () => NINA);
    await app.listen({ host: "127.0.0.1", port: 0 });
    onTestFinished(async () => {
      events.close();
      app.server.closeAllConnections();
      await app.close();
    });
    let heard = "";
    await ask((app.server.address() as AddressInfo).port, (socket) => {
      socket.on("data", (chunk: Buffer) => {
        heard += chunk.toString();
      });
    });
    const told = (): number => heard.split("event: approvals").length - 1;
    await vi.waitFor(() => expect(told()).toBe(1), PATIENCE);
    changes += 1;
    await vi.waitFor(() => expect(told()).toBe(2), PATIENCE);
    // It hears all that is told after, and of escalations no more.
    const before = heard.length;
    await vi.waitFor(
      () => expect(heard.length).toBeGreaterThan(before + 2 * OVERVIEW.text.length),
      PATIENCE,
    );
    expect(told()).toBe(2);
  });
});

async function ask(port: number, listen: (socket: Socket) => void): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  listen(socket);
  socket.write("GET /api/events HTTP/1.1\r\nhost: localhost\r\n\r\n");
}
