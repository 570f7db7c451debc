/** `agtpd status`, `nodes`, `reload` and `stop`, beside a daemon in a process of its own. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openControlSocket } from "../../src/server/control-socket.ts";
import { controlPath, takeStateDirectory } from "../../src/state/state-directory.ts";
import { runCommand, runProgram, startProgram } from "../support/agtpd.ts";
import { configFile, makeDeployment, type TestDeployment } from "../support/deployment.ts";
import { PLAIN_HANDLERS, serverFiles } from "../support/server-deployment.ts";
import type { ProgramRun } from "../support/terminal.ts";

const REMEDY = "(agtpd starts one, --config FILE names another deployment)";

const deployed = (): TestDeployment =>
  makeDeployment(
    serverFiles({ gateway: { enabled: true, port: 0 } }, { "handlers.mjs": PLAIN_HANDLERS }),
  );

function ask(deployment: TestDeployment, ...args: readonly string[]): Promise<ProgramRun> {
  return runCommand([...args, "--config", deployment.configPath], deployment.directory);
}

describe("agtpd, asked about a daemon that runs", () => {
  it("says how it is, for programs and for people", async () => {
    const deployment = deployed();
    const { child, ready } = await startProgram(deployment.configPath);
    const args = ["status", "--json", "--config", deployment.configPath];
    const { code, stdout } = await runProgram({ args });
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
    expect(people.out).toMatch(new RegExp(`^port {2,}${ready["port"]}$`, "m"));
    expect(people.out).not.toContain("null");
  });

  it("says it in two columns, however long a name is", async () => {
    const deployment = deployed();
    const status = { ready: true, journal_bytes: 1, journal_cut_through: "00000002.jws" };
    const path = controlPath(deployment.directory);
    const control = await openControlSocket(path, () => () => status);
    onTestFinished(() => control.close());
    const { out } = await ask(deployment, "status");
    expect(out.trimEnd().split("\n")).toEqual([
      "ready                true",
      "journal_bytes        1",
      "journal_cut_through  00000002.jws",
    ]);
  });

  it("lists the processes that serve it, for programs and for people", async () => {
    const deployment = deployed();
    const { ready } = await startProgram(deployment.configPath);
    const { exitCode, out } = await ask(deployment, "nodes", "--json");
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toEqual([
      {
        node: expect.stringMatching(new RegExp(`:${ready["port"]}$`)),
        address: `127.0.0.1:${ready["port"]}`,
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        since: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        ...{ state: "ready", lease_ms: null },
      },
    ]);
    const people = await ask(deployment, "nodes");
    expect(people.out).toMatch(/^node +state +address +version +since +lease_ms\n\S+ +ready /);
  });

  it("reloads, and tells what keeps it from that", async () => {
    const deployment = deployed();
    const { line } = await startProgram(deployment.configPath);
    expect(await ask(deployment, "reload")).toMatchObject({ exitCode: 0, err: "reloaded\n" });
    await line("reloaded");
    writeFileSync(deployment.configPath, configFile({ server: { prot: 1 } }));
    const { exitCode, err } = await ask(deployment, "reload");
    expect(exitCode).toBe(1);
    expect(err).toContain("agtp-server.toml: server.prot: ");
    expect(err).toContain("nothing changed\n");
  });

  // docs/production.md: what takes effect at the next start only is a warning that names the key.
  it.each([1, 2])(
    "reloads, and tells what it leaves to be desired, %i processes",
    async (workers) => {
      const tables = { server: { server_id: "test", port: 0, workers } };
      const deployment = makeDeployment(serverFiles(tables, { "handlers.mjs": PLAIN_HANDLERS }));
      const before = readFileSync(deployment.configPath, "utf8");
      const { line } = await startProgram(deployment.configPath);
      const more = { cluster: { view_lease_ms: 3000 }, agents: { default: "nobody" } };
      const files = serverFiles({ ...tables, ...more });
      writeFileSync(deployment.configPath, String(files["agtp-server.toml"]));
      const { exitCode, err } = await ask(deployment, "reload");
      await line("reloaded");
      expect(exitCode).toBe(0);
      expect(err.split("\n").toSorted()).toEqual([
        "",
        "reloaded",
        'warning: agtp-server.toml: agents.default: no agent is called "nobody"',
        "warning: agtp-server.toml: cluster.view_lease_ms: changed, which takes effect at the next start",
      ]);
      // As long as it is not in force, and not when it is as it was.
      expect((await ask(deployment, "reload")).err).toBe(err);
      writeFileSync(deployment.configPath, before);
      expect((await ask(deployment, "reload")).err).toBe("reloaded\n");
    },
  );

  // docs/gateway.md "Where it listens": the size of a request's head needs a restart there.
  it("tells of limits that hold for HTTP clients from the next start on", async () => {
    const deployment = deployed();
    await startProgram(deployment.configPath);
    const limits = { header_bytes: 4096, body_bytes: 4096 };
    const files = serverFiles({ gateway: { enabled: true, port: 0 }, limits });
    writeFileSync(deployment.configPath, String(files["agtp-server.toml"]));
    const { err } = await ask(deployment, "reload");
    const rest = "changed, which takes effect for HTTP clients at the next start";
    expect(err).toBe(`warning: agtp-server.toml: limits.header_bytes: ${rest}\nreloaded\n`);
  });

  it("stops, and comes back when the process has ended", async () => {
    const deployment = deployed();
    const { outcome } = await startProgram(deployment.configPath);
    const args = ["stop", "--config", deployment.configPath];
    expect(await runProgram({ args })).toMatchObject({ code: 0, stderr: "stopped\n" });
    expect((await outcome).code).toBe(0);
    expect(existsSync(join(deployment.directory, ".agtp/control.sock"))).toBe(false);
    for (const command of ["status", "nodes", "reload", "stop"]) {
      const { exitCode, err } = await ask(deployment, command);
      expect([command, exitCode]).toEqual([command, 1]);
      expect(err).toBe(`agtpd ${command}: no daemon runs for ${deployment.configPath} ${REMEDY}\n`);
    }
  });

  it("tells a daemon that starts or ends from one that does not run", async () => {
    const { directory, configPath } = deployed();
    const owner = { directory, store: { driver: "sqlite" } };
    const { lock } = await takeStateDirectory(owner, "agtpd");
    const asked = await runCommand(["status", "--config", configPath], directory);
    expect(asked.exitCode).toBe(1);
    expect(asked.err).toMatch(
      /: no daemon answers for .*: \.agtp is in use by agtpd, process \d+ on /,
    );
    lock?.release();
    const again = await runCommand(["status", "--config", configPath], directory);
    expect(again.err).toContain(REMEDY);
  });

  it("asks nobody where the configuration is not there, also not the daemon beside it", async () => {
    const deployment = deployed();
    const { child } = await startProgram(deployment.configPath);
    for (const { directory } of [deployment, deployed()]) {
      const config = join(directory, "none.toml");
      for (const command of ["status", "nodes", "reload", "stop", "login", "passkeys"]) {
        const { exitCode, err } = await runCommand([command, "--config", config], directory);
        expect([command, exitCode]).toEqual([command, 2]);
        expect(err).toBe(
          `agtpd ${command}: ${config}: does not exist (--config FILE names the deployment)\n`,
        );
      }
    }
    expect(child.exitCode).toBeNull();
  });

  it("asks nobody where the configuration is a directory, also not the daemon beside it", async () => {
    const deployment = deployed();
    const { child } = await startProgram(deployment.configPath);
    for (const command of ["status", "stop", "login"]) {
      const { directory } = deployment;
      const args = [command, "--config", "endpoints"];
      const { exitCode, err } = await runCommand(args, directory);
      expect([command, exitCode]).toEqual([command, 2]);
      expect(err).toBe(`agtpd ${command}: endpoints: must be a file, is a directory\n`);
    }
    expect(child.exitCode).toBeNull();
  });

  it("finds the next daemon where the last one was killed", async () => {
    const deployment = deployed();
    const killed = await startProgram(deployment.configPath);
    killed.child.kill("SIGKILL");
    await killed.outcome;
    expect(existsSync(join(deployment.directory, ".agtp/control.sock"))).toBe(true);
    expect((await ask(deployment, "status")).exitCode).toBe(1);
    const { child } = await startProgram(deployment.configPath);
    const { out } = await ask(deployment, "status", "--json");
    expect(JSON.parse(out).pid).toBe(child.pid);
  });
});
