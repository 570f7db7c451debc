/** An attack with more connections than there are descriptors, for a moment at a time. */
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type Arena, type Attack, ask, knock, strangersRequest } from "./attack.ts";

const DESCRIPTORS = 160;

/** Uses up the descriptors for a moment at a time; afterwards the daemon has to work as before. */
export const noDescriptors: Attack = {
  name: "no-descriptors",
  options: { descriptors: DESCRIPTORS },
  async run(arena) {
    while (arena.goesOn()) {
      const held = await exhaust(arena);
      await Promise.all(held.map((socket) => release(socket)));
    }
    return describesInYaml(arena);
  },
};

async function exhaust(arena: Arena): Promise<readonly Socket[]> {
  const { port } = arena.victim;
  const held = Array.from({ length: 2 * DESCRIPTORS }, () => connect({ host: "127.0.0.1", port }));
  for (const socket of held) socket.on("error", () => undefined);
  arena.count();
  const kept = await knock(arena);
  if (kept !== undefined) {
    await ask(kept, strangersRequest("DESCRIBE", "/", '{"format":"yaml"}'));
    kept.destroy();
  }
  await delay(20);
  return held;
}

function release(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once("close", () => resolve()).destroy();
  });
}

async function describesInYaml(arena: Arena): Promise<string | undefined> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const socket = await knock(arena);
    if (socket === undefined) await delay(50);
    else {
      const answer = await ask(socket, strangersRequest("DESCRIBE", "/", '{"format":"yaml"}'));
      socket.destroy();
      return answer.startsWith("AGTP/1.0 500") ? "DESCRIBE stays broken" : undefined;
    }
  }
  return "it lets nobody in any more";
}
