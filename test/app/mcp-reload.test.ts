/** MCP servers as child processes, through reloads: one that nobody names any more is ended. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { mcpProgram } from "../../src/programs/mcp/command.ts";
import { bundledProgram } from "../support/bundled-program.ts";
import { askOnce, serve, type TestDaemon } from "../support/daemon.ts";
import { agentFile, configFile, makeDeployment } from "../support/deployment.ts";
import { PATIENCE } from "../support/patience.ts";
import { runIn } from "../support/terminal.ts";

const AGENT = "ab".repeat(32);
const SCRIPT = await bundledProgram("noted-mcp-server");

interface House {
  readonly daemon: TestDaemon;
  readonly notes: string;
  /** Writes a configuration whose server has this in its environment; undefined: it has none. */
  configure(edition: string | undefined): void;
}

function config(notes: string, edition: string | undefined, more: object = {}): string {
  const env = { NOTES: notes, EDITION: edition ?? "" };
  const server = { name: "tools", command: process.execPath, args: [SCRIPT], env };
  return configFile({ ...(edition === undefined ? {} : { mcp: { servers: [server] } }), ...more });
}

async function open(): Promise<House> {
  const deployment = makeDeployment({
    "agents/alma.agent.json": agentFile({
      ...{ agent_id: AGENT, name: "alma", scopes_accepted: ["tools:read", "tools:write"] },
    }),
  });
  const { directory, configPath } = deployment;
  const notes = join(directory, "notes");
  mkdirSync(notes);
  const configure = (edition: string | undefined): void =>
    writeFileSync(configPath, config(notes, edition));
  configure("import");
  const imported = await runIn(directory, mcpProgram, [
    ...["import", "tools", "-o", "endpoints/tools"],
  ]);
  expect(imported.exitCode).toBe(0);
  configure("first");
  const daemon = await serve(deployment);
  return { daemon, notes, configure };
}

/** The process that answered; `wait`: once the note `go` is there. */
async function call({ daemon }: House, text = ""): Promise<number> {
  const headers = { "Agent-ID": AGENT };
  const reply = await askOnce(daemon, { method: "ECHO", path: "/tools", headers, body: { text } });
  expect(reply).toMatchObject({ status: 200 });
  const { content } = JSON.parse(JSON.stringify(reply?.body));
  return Number(content[0].text);
}

/** The processes that run of all that were ever started. */
function running({ notes }: House): readonly number[] {
  return readdirSync(notes)
    .filter((name) => name.startsWith("pid-"))
    .map((name) => Number(name.slice("pid-".length)))
    .filter(isRunning);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

it("does not leave the process of an MCP server behind, also one that does not end by itself", async () => {
  const house = await open();
  await call(house);
  house.configure("stubborn");
  expect(await house.daemon.daemon.reload()).toEqual([]);
  await call(house);
  await house.daemon.close();
  // It was sent SIGKILL by then.
  await vi.waitFor(() => expect(running(house)).toEqual([]), { timeout: 1_000 });
});

describe("after a reload the process of an MCP server", () => {
  it("that is configured as before is the same", async () => {
    const house = await open();
    const before = await call(house);
    expect(await house.daemon.daemon.reload()).toEqual([]);
    expect(await house.daemon.daemon.reload()).toEqual([]);
    expect(await call(house)).toBe(before);
    expect(running(house)).toEqual([before]);
  });

  it("that has changed is ended, and another answers", async () => {
    const house = await open();
    const before = await call(house);
    house.configure("second");
    expect(await house.daemon.daemon.reload()).toEqual([]);
    const after = await call(house);
    expect(after).not.toBe(before);
    await vi.waitFor(() => expect(running(house)).toEqual([after]), PATIENCE);
  });

  it("that is gone is ended", async () => {
    const house = await open();
    await call(house);
    house.configure(undefined);
    rmSync(join(house.daemon.directory, "endpoints/tools"), { recursive: true });
    expect(await house.daemon.daemon.reload()).toEqual([]);
    await vi.waitFor(() => expect(running(house)).toEqual([]), PATIENCE);
  });

  it("is there until the call that it was in has its answer", async () => {
    const house = await open();
    const before = await call(house);
    const waiting = call(house, "wait");
    await vi.waitFor(() => expect(existsSync(join(house.notes, "waiting"))).toBe(true), PATIENCE);
    house.configure("second");
    expect(await house.daemon.daemon.reload()).toEqual([]);
    const after = await call(house);
    expect([...running(house)].sort()).toEqual([before, after].sort());
    writeFileSync(join(house.notes, "go"), "");
    expect(await waiting).toBe(before);
    await vi.waitFor(() => expect(running(house)).toEqual([after]), PATIENCE);
  });

  it("is the same where the reload is refused", async () => {
    const house = await open();
    const before = await call(house);
    house.configure("second");
    writeFileSync(join(house.daemon.directory, "agents/broken.agent.json"), "{");
    expect(await house.daemon.daemon.reload()).not.toEqual([]);
    expect(await call(house)).toBe(before);
    expect(running(house)).toEqual([before]);
  });
});
