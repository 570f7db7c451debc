/** Attacks with requests: long, expensive, malformed and abandoned ones. */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { agtpRequest } from "../bench/order.ts";
import { type Attack, ask, inParallel, strangersRequest } from "./attack.ts";

const MEMBERS = 95_000;

function manyMembers(): string {
  return JSON.stringify(
    Object.fromEntries(Array.from({ length: MEMBERS }, (_, index) => [`m${index}`, 0])),
  );
}

const MISSPELT = "plcae odrer espreso quantty prise tommorow ".repeat(3).slice(0, 110);

/** Valid requests with the maximum permitted cost. */
const DEAR: readonly string[] = [
  strangersRequest("DISCOVER", "/", manyMembers()),
  strangersRequest("DESCRIBE", "/", manyMembers()),
  strangersRequest("SUMMARIZE", "/", JSON.stringify({ source: "A. ".repeat(87_000) })),
  strangersRequest("QUERY", "/", JSON.stringify({ intent: MISSPELT })),
  strangersRequest("QUERY", "/", JSON.stringify({ query: MISSPELT })),
  strangersRequest("DISCOVER", "/", JSON.stringify({ capability: MISSPELT, limit: 100 })),
];

/** Bodies that are expensive to parse, to search and to summarize.   `[limits]` work_ms_per_second */
export const dearRequests: Attack = {
  name: "dear-requests",
  async run(arena) {
    let turn = 0;
    await inParallel(arena, 16, (socket) => {
      turn += 1;
      return ask(socket, DEAR[turn % DEAR.length] ?? "");
    });
    return undefined;
  },
};

/** Sends random octets over TLS. */
export const garbage: Attack = {
  name: "garbage",
  async run(arena) {
    await inParallel(arena, 8, (socket) => ask(socket, randomBytes(1 + Math.random() * 70_000)));
    return undefined;
  },
};

/** Truncated requests, and callers that leave before the answer. */
export const abortedRequests: Attack = {
  name: "aborted-requests",
  async run(arena) {
    const whole = agtpRequest("CREATE", "/orders/00000");
    await inParallel(arena, 8, async (socket) => {
      socket.write(Buffer.concat([whole, whole, whole.subarray(0, Math.random() * whole.length)]));
      await delay(Math.random() * 3);
      socket.destroy();
    });
    return undefined;
  },
};
