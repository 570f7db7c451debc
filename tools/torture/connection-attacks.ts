/** Attacks with connections: held, half open, unread, and up to the limit of descriptors. */
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type Attack, ask, inParallel, knock, strangersRequest } from "./attack.ts";
import { connectKeyUpdater } from "./key-updates.ts";

const MANIFEST = strangersRequest("DISCOVER", "/");
const MEBIBYTE = 1024 * 1024;

/** Requests the manifest many times without reading the answers. */
export const slowReaders: Attack = {
  name: "slow-readers",
  async run(arena) {
    const reader = await knock(arena);
    if (reader === undefined) return "the first connection was refused";
    const before = await arena.victim.memory();
    const deaf: Socket[] = [];
    while (arena.goesOn() && deaf.length < 100) {
      const socket = await knock(arena);
      if (socket === undefined) continue;
      socket.pause();
      socket.write(MANIFEST.repeat(64));
      deaf.push(socket);
      arena.count();
    }
    while (arena.goesOn()) await ask(reader, MANIFEST);
    const grown = (await arena.victim.memory()) - before;
    for (const socket of [reader, ...deaf]) socket.destroy();
    const most = 384 * MEBIBYTE;
    return grown > most ? `it holds ${Math.round(grown / MEBIBYTE)} MiB for them` : undefined;
  },
};

/** Opens the maximum of connections, and leaves them idle. */
export const idleConnections: Attack = {
  name: "idle-connections",
  async run(arena) {
    const before = await arena.victim.memory();
    const idle: Socket[] = [];
    const open = async (lane: number): Promise<void> => {
      while (arena.goesOn() && idle.length < 9_000) {
        // An address may have a thousand connections.
        const localAddress = `127.0.1.${1 + ((Math.floor(idle.length / 500) + lane) % 250)}`;
        const socket = await knock(arena, { localAddress });
        if (socket === undefined) await delay(20);
        else {
          idle.push(socket);
          arena.count();
        }
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, lane) => open(lane)));
    const each = ((await arena.victim.memory()) - before) / Math.max(1, idle.length);
    for (const socket of idle) socket.destroy();
    return each > 200 * 1024 ? `each costs ${Math.round(each / 1024)} KiB` : undefined;
  },
};

/** Begins handshakes and does not continue them. */
export const halfOpenHandshakes: Attack = {
  name: "half-open-handshakes",
  async run(arena) {
    const held: Socket[] = [];
    while (arena.goesOn()) {
      const socket = connect({
        host: "127.0.0.1",
        port: arena.victim.port,
        localAddress: "127.0.2.1",
      });
      socket.on("error", () => undefined);
      // The beginning of an incomplete ClientHello.
      socket.write(Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]));
      held.push(socket);
      arena.count();
      if (held.length > 800) held.shift()?.destroy();
      await delay(1);
    }
    for (const socket of held) socket.destroy();
    return undefined;
  },
};

/** Sends nothing but TLS key updates. */
export const keyUpdates: Attack = {
  name: "key-updates",
  async run(arena) {
    while (arena.goesOn()) {
      const { socket, updates } = await connectKeyUpdater(arena.victim.port);
      socket.on("error", () => undefined);
      socket.resume();
      const end = performance.now() + 5_000;
      while (!socket.destroyed && performance.now() < end && arena.goesOn()) {
        socket.write(updates(200));
        arena.count();
        await delay(10);
      }
      if (!socket.destroyed && performance.now() >= end) return "it lets them go on";
      socket.destroy();
    }
    return undefined;
  },
};

/** Opens a new connection for every request. */
export const freshConnections: Attack = {
  name: "fresh-connections",
  async run(arena) {
    await inParallel(arena, 8, async (socket) => {
      await ask(socket, strangersRequest("DISCOVER", "/apis"));
      socket.destroy();
    });
    return undefined;
  },
};
