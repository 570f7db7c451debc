/**
 * A separate process that repeats a small request to a daemon and reports the longest response
 * time. It also reports the delay of its own loop, because on a busy machine that part of a stall
 * is not the daemon's.
 */
import { connect, type TLSSocket } from "node:tls";

/** The counts since the last report. */
export interface Pulse {
  readonly beats: number;
  readonly longestMs: number;
  readonly ownMs: number;
}

const PAUSE_MS = 10;
const REQUEST = "AGTP/1.0 DISCOVER /apis\r\nContent-Length: 0\r\n\r\n";

let port = 0;
let askedAt = 0;
let isWaiting = false;
/** True while the daemon is down on purpose. */
let isResting = false;
let seen = { beats: 0, longestMs: 0, ownMs: 0 };

function beat(socket: TLSSocket): void {
  ask();
  isWaiting = true;
  socket.write(REQUEST);
}

/** Starts the wait, unless it has already begun. */
function ask(): void {
  if (!isResting) askedAt ||= performance.now();
}

function open(): void {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  ask();
  socket.on("secureConnect", () => beat(socket));
  socket.on("data", () => {
    if (!isWaiting) return;
    isWaiting = false;
    if (askedAt !== 0) seen.longestMs = Math.max(seen.longestMs, performance.now() - askedAt);
    seen.beats += 1;
    askedAt = 0;
    setTimeout(() => socket.writable && beat(socket), PAUSE_MS);
  });
  socket.on("error", () => undefined);
  // If a fault kills the daemon, the wait lasts until the next daemon answers.
  socket.on("close", () => setTimeout(open, PAUSE_MS));
}

function watchOwnLoop(): void {
  const before = performance.now();
  setTimeout(() => {
    seen.ownMs = Math.max(seen.ownMs, performance.now() - before - PAUSE_MS);
    watchOwnLoop();
  }, PAUSE_MS);
}

interface Message {
  readonly port?: number;
  readonly isResting?: boolean;
}

process.on("message", (message: Message) => {
  if (message.isResting !== undefined) {
    isResting = message.isResting;
    askedAt = isResting ? 0 : performance.now();
    return;
  }
  if (message.port !== undefined) {
    const isFirst = port === 0;
    port = message.port;
    if (isFirst) open();
    return;
  }
  const waiting = askedAt === 0 ? 0 : performance.now() - askedAt;
  process.send?.({ ...seen, longestMs: Math.max(seen.longestMs, waiting) } satisfies Pulse);
  seen = { beats: 0, longestMs: 0, ownMs: 0 };
});
process.on("disconnect", () => process.exit());
watchOwnLoop();
