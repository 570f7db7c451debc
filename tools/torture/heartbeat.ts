/**
 * A process of its own that asks a daemon for something small, again and again, and says how long the
 * longest answer took. How late its own loop was meanwhile is said beside it: on a busy machine that
 * much of a stall is not the daemon's.
 */
import { connect, type TLSSocket } from "node:tls";

/** What it has seen since it was asked last. */
export interface Pulse {
  readonly beats: number;
  readonly longestMs: number;
  readonly ownMs: number;
}

const PAUSE_MS = 10;
const REQUEST = "AGTP/1.0 DISCOVER /apis\r\nContent-Length: 0\r\n\r\n";

let port = 0;
let askedAt = 0;
let seen = { beats: 0, longestMs: 0, ownMs: 0 };

function beat(socket: TLSSocket): void {
  askedAt ||= performance.now();
  socket.write(REQUEST);
}

function open(): void {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  askedAt ||= performance.now();
  socket.on("secureConnect", () => beat(socket));
  socket.on("data", () => {
    if (askedAt === 0) return;
    seen.longestMs = Math.max(seen.longestMs, performance.now() - askedAt);
    seen.beats += 1;
    askedAt = 0;
    setTimeout(() => socket.writable && beat(socket), PAUSE_MS);
  });
  socket.on("error", () => undefined);
  // Whoever kills the daemon starts another one: until it answers, nobody has.
  socket.on("close", () => setTimeout(open, PAUSE_MS));
}

function watchOwnLoop(): void {
  const before = performance.now();
  setTimeout(() => {
    seen.ownMs = Math.max(seen.ownMs, performance.now() - before - PAUSE_MS);
    watchOwnLoop();
  }, PAUSE_MS);
}

process.on("message", (message: { readonly port?: number }) => {
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
