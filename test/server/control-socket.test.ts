/** The control socket by itself: what it takes, and what it says to what it does not. */
import { once } from "node:events";
import { existsSync, linkSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type ControlCommand,
  type ControlSocket,
  openControlSocket,
} from "../../src/server/control-socket.ts";
import { makeDirectory } from "../support/directory.ts";

async function open(
  commands: Readonly<Record<string, ControlCommand>> = {},
): Promise<{ readonly path: string; readonly control: ControlSocket }> {
  const path = join(makeDirectory(), "control.sock");
  const known = new Map(Object.entries(commands));
  const control = await openControlSocket(path, (name) => known.get(name));
  onTestFinished(() => control.close());
  return { path, control };
}

/** Sends octets, and answers with everything that comes back until the end. */
function say(path: string, said: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => socket.write(said));
    let heard = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      heard += chunk;
    });
    socket.once("error", reject);
    socket.once("close", () => resolve(heard));
  });
}

const ask = async (path: string, asked: unknown): Promise<unknown> =>
  JSON.parse(await say(path, `${JSON.stringify(asked)}\n`));

describe("the control socket", () => {
  it("is its user's alone", async () => {
    const { path } = await open();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("answers a command with its result, and a refusal with its message", async () => {
    const { path } = await open({
      double: ({ number }) => ({ number: 2 * Number(number) }),
      refuse: async () => {
        throw new Error("not today");
      },
    });
    expect(await ask(path, { command: "double", options: { number: 4 } })).toEqual({
      ok: true,
      result: { number: 8 },
    });
    expect(await ask(path, { command: "refuse" })).toEqual({ ok: false, message: "not today" });
  });

  it.each([
    ["no JSON", "status\n"],
    ["no object", "[]\n"],
    ["no command", "{}\n"],
    ["a command that there is not", '{"command":"dance"}\n'],
    ["a command of another type", '{"command":{"toString":1}}\n'],
    ["options that are none", '{"command":"status","options":7}\n'],
    ["a line without an end", "x".repeat(5_000)],
  ])("refuses %s", async (_, said) => {
    const { path } = await open({ status: () => ({}) });
    expect(JSON.parse(await say(path, said))).toMatchObject({ ok: false });
  });

  it("does one command a connection", async () => {
    let count = 0;
    const { path } = await open({ count: () => ({ count: ++count }) });
    const line = '{"command":"count"}\n';
    expect(await say(path, line + line)).toBe('{"ok":true,"result":{"count":1}}\n');
    expect(count).toBe(1);
  });

  it("keeps no place for those that have their answer and do not hang up", async () => {
    const { path } = await open({ status: () => ({ ready: true }) });
    const line = '{"command":"status"}\n';
    for (let count = 0; count < 16; count += 1) {
      const socket = connect({ path, allowHalfOpen: true });
      onTestFinished(() => void socket.destroy());
      socket.resume().write(line);
      await once(socket, "end");
    }
    expect(await say(path, line)).toBe('{"ok":true,"result":{"ready":true}}\n');
  });

  it("takes the place of one that was left behind, and of nothing else", async () => {
    const { path: left, control } = await open();
    const path = join(makeDirectory(), "control.sock");
    // As a daemon leaves it that is killed: its listener is gone, and the socket is not.
    linkSync(left, path);
    await control.close();
    const next = await openControlSocket(path, () => () => ({ next: true }));
    expect(await ask(path, { command: "any" })).toEqual({ ok: true, result: { next: true } });
    await next.close();
    writeFileSync(path, "mine");
    await expect(openControlSocket(path, () => undefined)).rejects.toThrow("something else");
  });

  it("answers what is under way when it leaves, and makes room at once", async () => {
    let release: (value: object) => void = () => undefined;
    let begun: () => void = () => undefined;
    const begins = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const { path, control } = await open({
      wait: () => {
        begun();
        return new Promise((resolve) => {
          release = resolve;
        });
      },
    });
    const waiting = ask(path, { command: "wait" });
    await begins;
    await control.leave();
    expect(existsSync(path)).toBe(false);
    const next = await openControlSocket(path, () => () => ({ next: true }));
    onTestFinished(() => next.close());
    const closed = control.close();
    release({ first: true });
    await closed;
    expect(await waiting).toEqual({ ok: true, result: { first: true } });
    expect(await ask(path, { command: "wait" })).toEqual({ ok: true, result: { next: true } });
  });

  it("waits for no command that does not end", async () => {
    let begun: () => void = () => undefined;
    const begins = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const { path, control } = await open({
      wait: () => {
        begun();
        return new Promise(() => undefined);
      },
    });
    const heard = say(path, '{"command":"wait"}\n');
    await begins;
    await control.close();
    expect(await heard).toBe("");
  });
});
