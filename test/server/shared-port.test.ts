/** Connections of one port among workers that accept for themselves, by what they tell each other. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { type Passing, SharedPort } from "../../src/server/shared-port.ts";
import { type ConnectionLimits, shareOf, WorkerPort } from "../../src/server/worker-port.ts";
import { PATIENCE } from "../support/patience.ts";

const LIMITS: ConnectionLimits = { maxConnections: 100, maxConnectionsPerAddress: 100 };

/** Workers and their parent in one process; `acceptor` says which of them accepts the next connection. */
async function open(of: number, limits: Partial<ConnectionLimits> = {}) {
  const shared = new SharedPort(of);
  await shared.listen("127.0.0.1", 0);
  onTestFinished(() => shared.close());
  const taken: Socket[][] = [];
  /** What each worker heard last of the fewest connections of another one. */
  const heard: (number | undefined)[] = [];
  const ports: WorkerPort[] = [];
  const joins: (() => void)[] = [];
  const leaves: (() => void)[] = [];
  for (let number = 1; number <= of; number += 1) {
    const held: Socket[] = [];
    taken.push(held);
    const port = new WorkerPort({
      seat: { number, of },
      limits: () => ({ ...LIMITS, ...limits }),
      take: ({ lower, onClosed }) => {
        const socket = lower as Socket;
        held.push(socket);
        if (onClosed !== undefined) socket.once("close", onClosed);
        socket.on("error", () => undefined);
        socket.once("close", () => void held.splice(held.indexOf(socket), 1));
        socket.resume();
      },
      pass: (socket, passing) => {
        room.passed += 1;
        shared.passed(worker, socket, passing);
      },
      tell: (count) => shared.has(worker, count),
      onFault: () => undefined,
    });
    ports.push(port);
    const worker = {
      number,
      listen: () => undefined,
      hand: (socket: Socket, passing: Passing) => port.hand(socket, passing),
      tellLeast: (count: number | undefined) => {
        heard[number - 1] = count;
        port.hear(count);
      },
      tellFull: (address: string | undefined) => port.hearFull(address),
    };
    joins.push(() => shared.join(worker));
    leaves.push(() => shared.leave(worker));
    onTestFinished(() => port.close());
  }
  const room = {
    shared,
    joins,
    leaves,
    acceptor: 0,
    passed: 0,
    counts: () => taken.map((one) => one.length),
    heard: () => heard,
  };
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    onTestFinished(() => void socket.destroy());
    ports[room.acceptor]?.accept(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const dial = (): Socket => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  return Object.assign(room, { dial });
}

it("has about as many connections at each worker, whichever accepts them", async () => {
  const room = await open(2);
  for (const join of room.joins) join();
  await vi.waitFor(() => expect(room.shared.connectionCount).toBe(0), PATIENCE);
  const dialled: Socket[] = [];
  for (let count = 1; count <= 12; count += 1) {
    dialled.push(room.dial());
    await vi.waitFor(() => expect(room.shared.connectionCount).toBe(count), PATIENCE);
  }
  const [left = 0, right = 0] = room.counts();
  expect(left + right).toBe(12);
  // Half as many more are not worth a way over two processes.
  expect(left).toBeLessThanOrEqual(1.5 * right + 1);
  for (const socket of dialled) socket.destroy();
  await vi.waitFor(() => expect(room.shared.connectionCount).toBe(0), PATIENCE);
  room.acceptor = 1;
  for (const count of [1, 2]) {
    room.dial();
    await vi.waitFor(() => expect(room.shared.connectionCount).toBe(count), PATIENCE);
  }
  expect(room.counts()).toEqual([1, 1]);
});

it("shares out many connections that one worker accepts at once", async () => {
  const room = await open(2);
  for (const join of room.joins) join();
  for (let count = 1; count <= 16; count += 1) room.dial();
  await vi.waitFor(
    () => expect(room.counts().reduce((sum, count) => sum + count)).toBe(16),
    PATIENCE,
  );
  const [left = 0, right = 0] = room.counts();
  expect(Math.min(left, right)).toBeGreaterThanOrEqual(5);
});

it("keeps the limits of the whole, and has all of them used", async () => {
  const room = await open(2, { maxConnections: 3 });
  for (const join of room.joins) join();
  room.acceptor = 1;
  const first = room.dial();
  await vi.waitFor(() => expect(room.counts()).toEqual([0, 1]), PATIENCE);
  room.dial();
  room.dial();
  await vi.waitFor(() => expect(room.counts()).toEqual([2, 1]), PATIENCE);
  for (const acceptor of [0, 1]) {
    room.acceptor = acceptor;
    await once(room.dial(), "close");
  }
  expect(room.counts()).toEqual([2, 1]);
  first.destroy();
  await vi.waitFor(() => expect(room.counts()).toEqual([2, 0]), PATIENCE);
  room.acceptor = 0;
  // Once nobody had room, for a moment none is passed on.
  await vi.waitFor(() => {
    room.dial();
    expect(room.counts()).toEqual([2, 1]);
  }, PATIENCE);
});

it("passes on few connections of a flood that nobody has room for", async () => {
  const room = await open(2, { maxConnectionsPerAddress: 2 });
  for (const join of room.joins) join();
  for (const acceptor of [0, 1]) {
    room.acceptor = acceptor;
    room.dial();
  }
  await vi.waitFor(() => expect(room.counts()).toEqual([1, 1]), PATIENCE);
  const before = room.passed;
  await Promise.all(Array.from({ length: 50 }, () => once(room.dial(), "close")));
  expect(room.passed - before).toBeLessThan(25);
  expect(room.counts()).toEqual([1, 1]);
});

it("counts by address", async () => {
  const room = await open(2, { maxConnectionsPerAddress: 1 });
  for (const join of room.joins) join();
  room.acceptor = 1;
  const only = room.dial();
  await vi.waitFor(() => expect(room.counts()).toEqual([1, 0]), PATIENCE);
  await once(room.dial(), "close");
  only.destroy();
  await vi.waitFor(() => expect(room.counts()).toEqual([0, 0]), PATIENCE);
  await vi.waitFor(() => {
    room.dial();
    expect(room.counts()).toEqual([1, 0]);
  }, PATIENCE);
});

it("has a connection wait for a worker that is being replaced, where the others are full", async () => {
  const room = await open(2, { maxConnections: 2 });
  room.joins[0]?.();
  room.dial();
  await vi.waitFor(() => expect(room.counts()).toEqual([1, 0]), PATIENCE);
  const waits = room.dial();
  await vi.waitFor(() => expect(room.shared.connectionCount).toBe(2), PATIENCE);
  room.joins[1]?.();
  await vi.waitFor(() => expect(room.counts()).toEqual([1, 1]), PATIENCE);
  expect(waits.destroyed).toBe(false);
  room.leaves[1]?.();
  expect(room.shared.connectionCount).toBe(1);
});

it("leaves a worker alone that was begun before the daemon was told to end", async () => {
  const room = await open(2);
  room.shared.close();
  for (const join of room.joins) join();
  expect(room.shared.connectionCount).toBe(0);
});

it("leaves nothing of a limit over, and gives no more", () => {
  for (const [limit, of] of [
    [10, 3],
    [1, 4],
    [7, 7],
    [1_000, 8],
  ] as const) {
    const shares = Array.from({ length: of }, (_, at) => shareOf(limit, { number: at + 1, of }));
    expect(shares.reduce((sum, share) => sum + share)).toBe(limit);
  }
});

it("tells each worker of another one in the turn in which that joins", async () => {
  const room = await open(2);
  for (const join of room.joins) join();
  expect(room.heard()).toEqual([0, 0]);
});
