/** agtp_handlers.py: its own tests, where Python is found, and the sample's handler over TLS. */
import { execFile, execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { askOnce, serve, type TestDaemon } from "../support/daemon.ts";
import { makeDeployment } from "../support/deployment.ts";
import type { TestReply } from "../support/dispatch.ts";
import { ROOT } from "../support/source-tree.ts";

const CONCIERGE = "236cd4fdff74c17d27aa23919b929553712401ad5cc44eab5071d2c574ea0ccb";
const ENV = { PATH: process.env["PATH"], HOME: process.env["HOME"], PYTHONDONTWRITEBYTECODE: "1" };

function findPython(): boolean {
  try {
    execFileSync("python3", ["-c", "import sys; assert sys.version_info >= (3, 9)"]);
    return true;
  } catch {
    return false;
  }
}

/** The sample's transfers, alone: nothing else of the sample is needed for them. */
async function startTransfers(
  env: Readonly<Record<string, string | undefined>>,
): Promise<TestDaemon> {
  const config = `[server]\nserver_id = "test"\nport = 0\n[[processes]]\nname = "transfers"\ncommand = ["python3", "handlers/transfers.py"]\n`;
  const { directory, configPath } = makeDeployment({ "agtp-server.toml": config });
  for (const part of ["handlers", "endpoints/transfers", "agents"]) {
    cpSync(join(ROOT, part), join(directory, part), { recursive: true });
  }
  const daemon = await serve({ directory, configPath }, env);
  return daemon;
}

async function quote(daemon: TestDaemon, quay: string): Promise<TestReply | undefined> {
  const headers = { "Agent-ID": CONCIERGE };
  const path = `/transfers/${quay}`;
  return askOnce(daemon, { method: "QUOTE", path, headers, body: { guests: 9 } });
}

describe.runIf(findPython())("agtp_handlers.py", () => {
  it("passes its own tests", async () => {
    const directory = join(ROOT, "test/handlers/python");
    const args = ["-m", "unittest", "discover", "-s", directory];
    const { stderr } = await promisify(execFile)("python3", args, {
      env: { ...process.env, ...ENV },
    });
    expect(stderr).toMatch(/Ran \d\d tests[\s\S]*OK/);
  });

  it("serves the sample's handler", async () => {
    const daemon = await startTransfers(ENV);
    expect(await quote(daemon, "old-lighthouse")).toMatchObject({
      status: 200,
      body: { minutes: 25, boats: 2, total_price: 100, currency: "EUR" },
    });
    expect(await quote(daemon, "the-moon")).toMatchObject({
      status: 422,
      body: { error: { code: "unknown_quay", details: { quays: expect.any(Array) } } },
    });
  });
});

describe("the sample's Python handler", () => {
  it("is a problem where there is no Python, and everything else is served", async () => {
    const daemon = await startTransfers({ PATH: "/nonexistent" });
    const problems = daemon.log.filter(
      ({ event, level }) => event === "problem" && level === "error",
    );
    expect(problems.map(({ file, key }) => `${file} ${key}`)).toEqual([
      "agtp-server.toml processes[0].command",
      "endpoints/transfers/quote-transfer.toml endpoint.handler.function",
    ]);
    expect((await quote(daemon, "old-lighthouse"))?.status).toBe(404);
  });
});
