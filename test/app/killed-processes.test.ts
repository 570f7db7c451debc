/** The processes of a deployment end with whoever has started them, killed or not, and with all that they have started. */
import { execFileSync } from "node:child_process";
import { expect, it, onTestFinished, vi } from "vitest";
import { startProgram } from "../support/agtpd.ts";
import { agentFile, makeDeployment } from "../support/deployment.ts";
import { encodeRequest } from "../support/dispatch.ts";
import { PATIENCE } from "../support/patience.ts";
import { isAlive, processConfig, processEndpoints } from "../support/processes.ts";

const AGENT = "ab".repeat(32);
/** SIGTERM is two seconds before SIGKILL, and a busy machine is late. */

function parentOf(pid: number): number {
  return Number(execFileSync("ps", ["-o", "ppid=", "-p", String(pid)], { encoding: "utf8" }));
}

it.each([
  ["the daemon is killed", 1],
  ["the worker is killed", 2],
  ["the parent of the workers is killed", 2],
])(
  "leave nothing that they have started, whatever that does with SIGTERM, where %s",
  async (what, workers) => {
    const { configPath } = makeDeployment({
      "agtp-server.toml": processConfig([], {}, { server: { workers } }),
      "agents/alma.agent.json": agentFile({ agent_id: AGENT, name: "alma" }),
      ...processEndpoints("pid", "fork"),
    });
    const program = await startProgram(configPath);
    const client = await program.connect();
    for (const path of ["/pids", "/forks"]) {
      client.write(
        encodeRequest({ method: "QUERY", path, headers: { "Agent-ID": AGENT }, body: {} }),
      );
    }
    const [leader = 0, grandchild = 0] = (await client.replies(2)).map(({ body }) =>
      Number(body["pid"]),
    );
    onTestFinished(() => {
      for (const pid of [leader, grandchild]) if (isAlive(pid)) process.kill(pid, "SIGKILL");
    });
    expect([isAlive(leader), isAlive(grandchild)]).toEqual([true, true]);
    const host = parentOf(leader);
    expect(host === program.child.pid).toBe(workers === 1);
    process.kill(what.includes("parent") ? (program.child.pid ?? 0) : host, "SIGKILL");
    await vi.waitFor(
      () => expect([isAlive(leader), isAlive(grandchild)]).toEqual([false, false]),
      PATIENCE,
    );
  },
);
