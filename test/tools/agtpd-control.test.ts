/**
 * `agtpd status`, `reload` and `stop`: built programs, beside a daemon in a process of its own. Each test
 * runs several processes one after another.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Outcome, runProgram, startProgram } from "../support/agtpd.ts";
import { configFile, makeDeployment, type TestDeployment } from "../support/deployment.ts";
import { PLAIN_HANDLERS, serverFiles } from "../support/server-deployment.ts";

const REMEDY = "(agtpd starts one, --config FILE names another deployment)";

const deployed = (): TestDeployment =>
  makeDeployment(
    serverFiles({ gateway: { enabled: true, port: 0 } }, { "handlers.mjs": PLAIN_HANDLERS }),
  );

function ask(deployment: TestDeployment, ...args: readonly string[]): Promise<Outcome> {
  return runProgram({ args: [...args, "--config", deployment.configPath] });
}

describe("agtpd, asked about a daemon that runs", () => {
  it("says how it is, for programs and for people", async () => {
    const deployment = deployed();
    const { child, ready } = await startProgram(deployment.configPath);
    const { code, stdout } = await ask(deployment, "status", "--json");
    const status = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(status).toMatchObject({
      ...{ pid: child.pid, ready: true, server_id: "test", workers: 1, console_port: null },
      ...{ address: "127.0.0.1", port: ready["port"], gateway_port: ready["gateway_port"] },
      ...{ metrics_port: null, connections: 0, problems: [] },
    });
    expect(status.node).toMatch(new RegExp(`:${ready["port"]}$`));
    expect(status.document_version).toMatch(/\S/);
    const people = await ask(deployment, "status");
    expect(people.stdout).toMatch(new RegExp(`^port {14}${ready["port"]}$`, "m"));
    expect(people.stdout).not.toContain("null");
  }, 60_000);

  it("lists the processes that serve it, for programs and for people", async () => {
    const deployment = deployed();
    const { ready } = await startProgram(deployment.configPath);
    const { code, stdout } = await ask(deployment, "nodes", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual([
      {
        node: expect.stringMatching(new RegExp(`:${ready["port"]}$`)),
        address: `127.0.0.1:${ready["port"]}`,
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        since: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        ...{ state: "ready", lease_ms: null },
      },
    ]);
    const people = await ask(deployment, "nodes");
    expect(people.stdout).toMatch(/^node +state +address +version +since +lease_ms\n\S+ +ready /);
  }, 60_000);

  it("reloads, and tells what keeps it from that", async () => {
    const deployment = deployed();
    const { line } = await startProgram(deployment.configPath);
    expect(await ask(deployment, "reload")).toMatchObject({ code: 0, stderr: "reloaded\n" });
    await line("reloaded");
    writeFileSync(deployment.configPath, configFile({ server: { prot: 1 } }));
    const { code, stderr } = await ask(deployment, "reload");
    expect(code).toBe(1);
    expect(stderr).toContain("agtp-server.toml: server.prot: ");
    expect(stderr).toContain("nothing changed\n");
  }, 60_000);

  it("stops, and comes back when the process has ended", async () => {
    const deployment = deployed();
    const { outcome } = await startProgram(deployment.configPath);
    expect(await ask(deployment, "stop")).toMatchObject({ code: 0, stderr: "stopped\n" });
    expect((await outcome).code).toBe(0);
    expect(existsSync(join(deployment.directory, ".agtp/control.sock"))).toBe(false);
    for (const command of ["status", "nodes", "reload", "stop"]) {
      const { code, stderr } = await ask(deployment, command);
      expect([command, code]).toEqual([command, 1]);
      expect(stderr).toBe(
        `agtpd ${command}: no daemon runs for ${deployment.configPath} ${REMEDY}\n`,
      );
    }
  }, 60_000);

  it("tells a configuration that is not there from a daemon that does not run", async () => {
    const { directory } = deployed();
    const config = join(directory, "none.toml");
    for (const command of ["status", "nodes", "reload", "stop", "login", "passkeys"]) {
      const { code, stderr } = await runProgram({ args: [command, "--config", config] });
      expect([command, code]).toEqual([command, 2]);
      expect(stderr).toBe(
        `agtpd ${command}: ${config}: does not exist (--config FILE names the deployment)\n`,
      );
    }
  }, 60_000);

  it("finds the next daemon where the last one was killed", async () => {
    const deployment = deployed();
    const killed = await startProgram(deployment.configPath);
    killed.child.kill("SIGKILL");
    await killed.outcome;
    expect(existsSync(join(deployment.directory, ".agtp/control.sock"))).toBe(true);
    expect((await ask(deployment, "status")).code).toBe(1);
    const { child } = await startProgram(deployment.configPath);
    const { stdout } = await ask(deployment, "status", "--json");
    expect(JSON.parse(stdout).pid).toBe(child.pid);
  }, 60_000);
});
