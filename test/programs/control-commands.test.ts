/** The commands to a running daemon, where it takes its time. */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { reloadCommand } from "../../src/programs/control-commands.ts";
import { runProgram } from "../../src/programs/shell/run-program.ts";
import { controlPath } from "../../src/state/state-directory.ts";
import { makeDirectory } from "../support/directory.ts";
import { keepingTerminal } from "../support/terminal.ts";

describe("a command to a daemon that does not answer at once", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([true, false])("says once that it waits, to a person: %s", async (isTerminal) => {
    const directory = makeDirectory();
    writeFileSync(join(directory, "agtp-server.toml"), "");
    const path = controlPath(directory);
    mkdirSync(dirname(path), { recursive: true });
    const daemon = createServer();
    daemon.listen(path);
    await once(daemon, "listening");
    onTestFinished(() => void daemon.close());
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const terminal = keepingTerminal(directory, { isTerminal });
    const asked = once(daemon, "connection");
    const exit = runProgram(reloadCommand, [], terminal);
    const [connection] = await asked;
    connection.resume();
    vi.advanceTimersByTime(2_900);
    expect(terminal.written.err).toBe("");
    vi.advanceTimersByTime(60_000);
    const waits = isTerminal ? "the daemon of agtp-server.toml is still busy with it\n" : "";
    expect(terminal.written.err).toBe(waits);
    connection.end('{"ok":true,"result":{"reloaded":true,"problems":[]}}\n');
    expect(await exit).toBe(0);
    expect(terminal.written.err).toBe(`${waits}reloaded\n`);
    expect(vi.getTimerCount()).toBe(0);
  });
});
