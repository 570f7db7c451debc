/**
 * The control socket, by which a local user commands the running daemon: one command per connection, one line of
 * JSON each way. Only the daemon's user may open it (0600), who could end the process anyway.
 */
import { chmodSync, lstatSync, unlinkSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { pipeline, Readable } from "node:stream";
import { socketAddress } from "../base/addresses.ts";
import { isRecord, recordIn } from "../base/json-value.ts";
import { reasonOf } from "../base/thrown.ts";

/** A command's options by name. */
type ControlOptions = Readonly<Record<string, unknown>>;

/** Runs a command and returns its result. Throws with the message for the user. */
export type ControlCommand = (options: ControlOptions) => unknown;

/** A result of many lines, sent after the answer until the connection ends. */
export class ControlLines {
  readonly lines: AsyncIterable<string>;

  constructor(lines: AsyncIterable<string>) {
    this.lines = lines;
  }
}

/** The answer to a command, sent as a line of JSON. */
type ControlAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly message: string };

/** An open control socket. */
export interface ControlSocket {
  /** Accepts no more commands, and frees the path for another daemon; pending commands are still answered. */
  leave(): Promise<void>;
  /** Leaves, waits up to a second for pending answers, and closes every connection. */
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 16;
const MAX_LINE_BYTES = 4096;
const ASKING_TIMEOUT_MS = 5_000;
const READING_TIMEOUT_MS = 60_000;
const LAST_ANSWERS_MS = 1_000;

type FindCommand = (name: string) => ControlCommand | undefined;

/** Serves commands at a path. Throws if it cannot listen there. */
export async function openControlSocket(path: string, find: FindCommand): Promise<ControlSocket> {
  removeLeftOver(path);
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    // The client disconnected.
    socket.on("error", () => undefined);
    serve(socket, find);
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, path);
  let left: Promise<void> | undefined;
  const leave = (): Promise<void> => {
    left ??= new Promise((resolve) => {
      // Resolves once the last connection has ended; the path is free at once.
      server.close(() => resolve());
    });
    return Promise.resolve();
  };
  return {
    leave,
    close: async () => {
      await leave();
      const late = setTimeout(() => {
        for (const socket of open) socket.destroy();
      }, LAST_ANSWERS_MS);
      await left;
      clearTimeout(late);
    },
  };
}

/** Removes a stale socket: only this daemon uses the state directory, so a killed one left it. */
function removeLeftOver(path: string): void {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return;
  if (!status.isSocket()) throw new Error("there is something else in its place");
  unlinkSync(path);
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    // `listen` binds synchronously, so no one else can connect before the mode is set.
    const mask = process.umask(0o177);
    try {
      server.listen(socketAddress(path), () => {
        server.off("error", reject);
        chmodSync(path, 0o600);
        resolve();
      });
    } finally {
      process.umask(mask);
    }
  });
}

function serve(socket: Socket, find: FindCommand): void {
  let text = "";
  socket.setEncoding("utf8");
  socket.setTimeout(ASKING_TIMEOUT_MS, () => socket.destroy());
  const hear = (chunk: string): void => {
    text += chunk;
    const end = text.indexOf("\n");
    if (end < 0 && text.length <= MAX_LINE_BYTES) return;
    socket.off("data", hear);
    socket.resume();
    socket.setTimeout(0);
    const line = end < 0 ? "" : text.slice(0, end);
    void answer(line, find).then((said) => {
      // A client that neither reads nor disconnects is dropped.
      socket.setTimeout(READING_TIMEOUT_MS);
      if (said.ok && said.result instanceof ControlLines) sendLines(socket, said.result);
      else socket.end(`${JSON.stringify(said)}\n`, () => socket.destroy());
    });
  };
  socket.on("data", hear);
}

/** On a failure the connection closes before the last line, which tells the client that something is missing. */
function sendLines(socket: Socket, { lines }: ControlLines): void {
  socket.write(`${JSON.stringify({ ok: true, result: {} } satisfies ControlAnswer)}\n`);
  pipeline(
    Readable.from(lines, { objectMode: false, highWaterMark: 65_536 }),
    socket,
    () => undefined,
  );
}

async function answer(line: string, find: FindCommand): Promise<ControlAnswer> {
  try {
    const asked: unknown = JSON.parse(line);
    const { command, options = {} } = recordIn(asked);
    const known = typeof command === "string" ? find(command) : undefined;
    if (known === undefined)
      return refusal(`this daemon has no command ${JSON.stringify(command)}`);
    if (!isRecord(options)) return refusal("options must be an object");
    return { ok: true, result: await known(options) };
  } catch (error) {
    return refusal(reasonOf(error));
  }
}

function refusal(message: string): ControlAnswer {
  return { ok: false, message };
}
