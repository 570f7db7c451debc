/** Connections of one port, counted and handed over by the process that accepts them. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { SharedPort, type SocketTaker } from "../../src/server/shared-port.ts";

class Taker implements SocketTaker {
  readonly taken: { readonly id: number; readonly socket: Socket }[] = [];

  hand(id: number, socket: Socket): void {
    this.taken.push({ id, socket });
    onTestFinished(() => void socket.destroy());
  }
}

const LIMITS = { maxConnections: 100, maxConnectionsPerAddress: 100 };

async function open(limits: Partial<typeof LIMITS> = {}) {
  const port = new SharedPort({
    limits: () => ({ ...LIMITS, ...limits }),
    onFault: () => undefined,
  });
  const { port: number } = await port.listen("127.0.0.1", 0);
  onTestFinished(() => port.close());
  const dial = (): Socket => {
    const socket = connect(number, "127.0.0.1");
    socket.on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  return { port, dial };
}

function counts(...takers: readonly Taker[]): readonly number[] {
  return takers.map(({ taken }) => taken.length);
}

it("hands each connection to the worker that has the fewest", async () => {
  const { port, dial } = await open();
  const [left, right] = [new Taker(), new Taker()];
  port.join(left);
  port.join(right);
  for (let count = 1; count <= 4; count += 1) {
    dial();
    await vi.waitFor(() => expect(port.connectionCount).toBe(count));
  }
  expect(counts(left, right)).toEqual([2, 2]);
  for (const { id } of left.taken) port.released(left, id);
  dial();
  await vi.waitFor(() => expect(counts(left, right)).toEqual([3, 2]));
});

it("has connections wait while there is no worker, and closes none of them", async () => {
  const { port, dial } = await open();
  const [stays, goes] = [dial(), dial()];
  await vi.waitFor(() => expect(port.connectionCount).toBe(2));
  goes.destroy();
  const taker = new Taker();
  port.join(taker);
  expect(taker.taken.length).toBeGreaterThan(0);
  expect(stays.destroyed).toBe(false);
});

it("counts all workers' connections together, and those of a worker that is gone no more", async () => {
  const { port, dial } = await open({ maxConnections: 2 });
  const [left, right] = [new Taker(), new Taker()];
  port.join(left);
  port.join(right);
  dial();
  dial();
  await vi.waitFor(() => expect(counts(left, right)).toEqual([1, 1]));
  await once(dial(), "close");
  expect(counts(left, right)).toEqual([1, 1]);
  port.leave(left);
  expect(port.connectionCount).toBe(1);
  dial();
  await vi.waitFor(() => expect(counts(left, right)).toEqual([1, 2]));
});

it("counts by address", async () => {
  const { port, dial } = await open({ maxConnectionsPerAddress: 1 });
  const taker = new Taker();
  port.join(taker);
  dial();
  await vi.waitFor(() => expect(taker.taken).toHaveLength(1));
  await once(dial(), "close");
  port.released(taker, taker.taken[0]?.id ?? 0);
  // A number that was released counts once.
  port.released(taker, taker.taken[0]?.id ?? 0);
  dial();
  await vi.waitFor(() => expect(taker.taken).toHaveLength(2));
  expect(port.connectionCount).toBe(1);
});
