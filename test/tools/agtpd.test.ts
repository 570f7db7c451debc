import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCommand, runProgram, startProgram } from "../support/agtpd.ts";
import { makeCertificate } from "../support/certificate.ts";
import { configFile, endpointFile, makeDeployment } from "../support/deployment.ts";
import { listen } from "../support/port.ts";
import { call, echo, PLAIN_HANDLERS, serverFiles } from "../support/server-deployment.ts";
import { ROOT } from "../support/source-tree.ts";

const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  version: string;
};

/** A deployment whose handlers run in a process of their own. */
function deploy(tables = {}, files = {}) {
  return makeDeployment(serverFiles(tables, { "handlers.mjs": PLAIN_HANDLERS, ...files }));
}

// formats "Programs"
describe("agtpd", () => {
  it("explains itself with --help, and says its version", async () => {
    const [help, about] = await Promise.all([
      runProgram({ args: ["--help"] }),
      runProgram({ args: ["--version"] }),
    ]);
    expect([about.code, about.stdout]).toEqual([0, `${version}\n`]);
    const { code, stdout, stderr } = help;
    expect([code, stderr]).toEqual([0, ""]);
    for (const flag of ["--config", "--host", "--port", "--check", "--log-level", "--version"]) {
      expect(stdout).toContain(flag);
    }
    expect(stdout).toContain("Exit codes: 0");
  });

  it("exits 2 for usage it does not know", async () => {
    const usages = [
      ...[["--unknown"], ["--port", "eighty"], ["--port", "65536"], ["--port", "-1"]],
      ...[["--log-level", "loud"], ["--config"], ["surplus"]],
    ];
    const outcomes = await Promise.all(usages.map((args) => runCommand(args, ROOT)));
    for (const { exitCode, out, err } of outcomes) {
      expect([exitCode, out]).toEqual([2, ""]);
      expect(err).not.toBe("");
    }
  });

  it("exits 2 for options of which one alone can be meant", async () => {
    const pairs = [
      ["--check", "--watch"],
      ["--inspect-only", "--watch"],
      ["--check", "--inspect-only"],
    ];
    const outcomes = await Promise.all(pairs.map((args) => runProgram({ args })));
    for (const [at, { code, stdout, stderr }] of outcomes.entries()) {
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain(`expected ${pairs[at]?.join(" or ")}, got both`);
    }
  });

  it("says why a start failed, and exits 1, also where a worker's did", async () => {
    // A file of the console's page, which is read as it is opened.
    const preload = `
      const files = require("node:fs/promises");
      const { readFile } = files;
      files.readFile = async (path, ...rest) => {
        if (String(path).endsWith("icon.svg")) throw new Error("EMFILE: too many open files");
        return readFile(path, ...rest);
      };
      require("node:module").syncBuiltinESMExports();`;
    const tables = { console: { enabled: true, port: 0 } };
    const files = { "preload.cjs": preload };
    const start = (workers: number, ...args: readonly string[]) => {
      const { directory: cwd } = deploy({ ...tables, server: { workers } }, files);
      return runProgram({ cwd, args, env: { NODE_OPTIONS: "--require ./preload.cjs" } });
    };
    const one = await start(1);
    const refusal =
      "agtp-server.toml: the start failed: EMFILE: too many open files\nnot started\n";
    expect([one.code, one.stderr]).toEqual([1, refusal]);
    expect(JSON.parse(one.stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
      ...{ level: "error", event: "fault", message: "the start failed" },
      trace: expect.stringContaining("EMFILE"),
    });
    const two = await start(2);
    expect([two.code, two.stderr]).toEqual([
      1,
      "agtp-server.toml: a worker could not begin: EMFILE: too many open files\nnot started\n",
    ]);
    const checked = await start(1, "--check", "--json");
    expect(checked.code).toBe(1);
    expect(JSON.parse(checked.stdout)).toMatchObject({
      ok: false,
      problems: [{ message: "the start failed: EMFILE: too many open files" }],
    });
  });

  it("exits 2 when there is no configuration file", async () => {
    const { directory: cwd } = makeDeployment();
    const config = ["--config", "no.toml"];
    const outcomes = await Promise.all([
      runProgram({ cwd, args: config }),
      runProgram({ cwd, args: ["--check", ...config] }),
    ]);
    for (const { code, stderr } of outcomes) {
      expect(code).toBe(2);
      expect(stderr).toContain("no.toml: does not exist (agtpd init DIR makes a deployment");
    }
    const args = ["--check", "--json", "--config", "."];
    const { code, stdout, stderr } = await runProgram({ cwd, args });
    const message = "must be a file, is a directory";
    expect([code, stderr]).toEqual([2, `.: ${message}\n`]);
    expect(JSON.parse(stdout)).toEqual({ ok: false, problems: [{ file: ".", key: "", message }] });
  });

  it("takes agtp-server.toml of the working directory by default", async () => {
    const { directory } = deploy();
    expect((await runProgram({ cwd: directory, args: ["--check"] })).code).toBe(0);
  });
});

describe("agtpd --check", () => {
  it("says which module ends the process while it is loaded, and fails", async () => {
    const module = `process.exit(0);\n${PLAIN_HANDLERS}`;
    const handler = { type: "registered_function", function: "odd.leave" };
    const file = endpointFile({ method: "EXECUTE", path: "/leaves", handler });
    const { configPath } = deploy({}, { "odd.mjs": module, "endpoints/leaves.toml": file });
    const args = ["--check", "--config", configPath];
    const [said, asJson, started] = await Promise.all([
      runProgram({ args }),
      runProgram({ args: [...args, "--json"] }),
      runProgram({ args: ["--config", configPath] }),
    ]);
    expect([said.code, asJson.code, started.code]).toEqual([2, 2, 1]);
    expect(said.stdout).toMatch(/^odd\.mjs: ended the process with code 0 while it was loaded/);
    const { ok, problems } = JSON.parse(asJson.stdout);
    expect([ok, problems.length, problems[0].file]).toEqual([false, 1, "odd.mjs"]);
  });

  it("exits 0 for a valid deployment, and writes nothing", async () => {
    const { directory, configPath } = deploy();
    const before = readdirSync(directory, { recursive: true });
    const { code, stdout } = await runProgram({ args: ["--check", "--config", configPath] });
    expect([code, stdout]).toEqual([0, ""]);
    expect(readdirSync(directory, { recursive: true })).toEqual(before);
  });

  const broken = {
    "endpoints/bad.toml": '[endpoint]\nmethod = "BOOK"\n',
    "endpoints/worse.toml": "[[",
    "endpoints/lost.toml": endpointFile({
      ...{ method: "QUERY", path: "/losses" },
      handler: { type: "registered_function", function: "nowhere.handler" },
    }),
    "recipes/bad.toml": "[[recipe]]\nname = 1\n",
    "agents/bad.agent.json": "{",
  };

  it("exits 1 and prints every problem of every file", async () => {
    const { directory, configPath } = deploy({}, broken);
    const before = readdirSync(directory, { recursive: true });
    const { code, stdout } = await runProgram({ args: ["--check", "--config", configPath] });
    expect(code).toBe(1);
    for (const file of Object.keys(broken)) expect(stdout).toContain(`${file}: `);
    expect(
      stdout.split("\n").filter((line) => line.startsWith("endpoints/bad.toml")).length,
    ).toBeGreaterThan(1);
    expect(readdirSync(directory, { recursive: true })).toEqual(before);
  });

  it("prints the problems as JSON", async () => {
    const { configPath } = deploy({}, broken);
    const args = ["--check", "--json", "--config", configPath];
    const { code, stdout } = await runProgram({ args });
    const report = JSON.parse(stdout);
    expect([code, report.ok]).toEqual([1, false]);
    const files = new Set(report.problems.map((problem: { file: string }) => problem.file));
    expect([...files].toSorted()).toEqual(Object.keys(broken).toSorted());
  });

  it("prints every problem of a configuration", async () => {
    const config = configFile({ limits: { speed: 1, body_bytes: -1 }, sevrer: {} });
    const { configPath } = deploy({}, { "agtp-server.toml": config });
    const { code, stdout } = await runProgram({ args: ["--check", "--config", configPath] });
    expect(code).toBe(1);
    for (const key of ["limits.speed", "limits.body_bytes", "sevrer"])
      expect(stdout).toContain(key);
  });

  it("prints nothing by which a file could take the terminal over", async () => {
    const config = `"sp\\u001beed" = 1\n${configFile({ server: { host: "\u001b[2J\u009b2J\u202e" } })}`;
    const { configPath } = deploy({}, { "agtp-server.toml": config });
    const args = ["--config", configPath];
    const checked = await runProgram({ args: ["--check", ...args] });
    const started = await runProgram({ args });
    expect([checked.code, started.code]).toEqual([1, 1]);
    const said = checked.stdout + checked.stderr + started.stderr;
    expect(said).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
  });

  it("ends even when a handler module keeps a timer", async () => {
    const module = `${PLAIN_HANDLERS}\nsetInterval(() => undefined, 1_000);`;
    const { configPath } = deploy({}, { "handlers.mjs": module });
    expect((await runProgram({ args: ["--check", "--config", configPath] })).code).toBe(0);
  });
});

describe("agtpd, starting", () => {
  it("prints a ready line, whatever the log level", async () => {
    const levels = ["info", "silent"];
    const daemons = await Promise.all(
      levels.map((level) => {
        const { configPath } = deploy({ server: { server_id: "ready.example", port: 0 } });
        return startProgram(configPath, { args: ["--log-level", level] });
      }),
    );
    for (const { ready } of daemons) {
      expect(ready).toMatchObject({
        event: "listening",
        address: "127.0.0.1",
        server_id: "ready.example",
        workers: 1,
        node: `${hostname()}:${ready["port"]}`,
        fingerprint256: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/),
      });
      expect(ready["port"]).toBeGreaterThan(0);
    }
  });

  it("says that its port is taken, and exits 1 whatever a handler module waits for", async () => {
    const taken = await listen(createServer());
    const module = `${PLAIN_HANDLERS}\nsetInterval(() => undefined, 1_000);`;
    const { configPath } = deploy({}, { "handlers.mjs": module });
    const args = ["--config", configPath, "--port", String(taken)];
    const { code, stderr } = await runProgram({ args });
    expect(code).toBe(1);
    expect(stderr).toContain(`server.port: cannot listen on 127.0.0.1 port ${taken}`);
    expect(stderr).toContain("--port N");
    expect(stderr).not.toContain("    at ");
  });

  it("serves the valid rest and logs the problems, unless on_invalid is fail", async () => {
    const bad = { "endpoints/bad.toml": "[[" };
    const skipping = await startProgram(deploy({}, bad).configPath);
    const client = await skipping.connect();
    client.write(echo(1));
    expect((await client.replies(1))[0]?.status).toBe(200);
    expect(skipping.log.find(({ event }) => event === "problem")).toMatchObject({
      file: "endpoints/bad.toml",
    });
    const server = { server_id: "strict", port: 0, on_invalid: "fail" };
    const { configPath } = deploy({ server }, bad);
    const { code, stderr } = await runProgram({ args: ["--config", configPath] });
    expect(code).toBe(1);
    expect(stderr).toContain("endpoints/bad.toml: ");
  });
});

// formats "agtp-server.toml", [policies.identity]
describe("agtpd on a host that is not loopback", () => {
  const certificate = async () => {
    const { cert, key } = await makeCertificate();
    return { "tls/cert.pem": cert, "tls/key.pem": key };
  };
  const tls = { cert: "tls/cert.pem", key: "tls/key.pem" };
  const server = { server_id: "open", port: 0, host: "0.0.0.0" };

  it("refuses to start without allow_unverified_identity", async () => {
    const { configPath } = deploy({ server, tls }, await certificate());
    const { code, stderr } = await runProgram({ args: ["--config", configPath] });
    expect(code).toBe(1);
    expect(stderr).toContain("agtp-server.toml: policies.identity.assurance: ");
    expect(stderr).toContain("allow_unverified_identity");
  });

  it("refuses to start without a certificate", async () => {
    const policies = { identity: { allow_unverified_identity: true } };
    const { directory, configPath } = deploy({ server, policies });
    const before = readdirSync(directory, { recursive: true });
    const { code, stderr } = await runProgram({ args: ["--config", configPath] });
    expect(code).toBe(1);
    expect(stderr).toContain("agtp-server.toml: tls.cert: is required");
    expect(readdirSync(directory, { recursive: true })).toEqual(before);
  });

  it("looks at --host as well", async () => {
    const { configPath } = deploy();
    const hosts = ["0.0.0.0", "::", "10.0.0.1"];
    const outcomes = await Promise.all(
      hosts.map((host) => runProgram({ args: ["--config", configPath, "--host", host] })),
    );
    for (const { code, stderr } of outcomes) {
      expect(code).toBe(1);
      expect(stderr).toContain("policies.identity.assurance");
      expect(stderr).toContain("tls.cert");
    }
  });

  it("starts when both are there", async () => {
    const policies = { identity: { allow_unverified_identity: true, unknown_agents: "accept" } };
    const { configPath } = deploy({ server, tls, policies }, await certificate());
    const { ready } = await startProgram(configPath);
    expect(ready["address"]).toBe("0.0.0.0");
  });
});

describe("agtpd, whose log nobody reads", () => {
  it("goes on when its standard output is closed, and still drains", async () => {
    const daemon = await startProgram(deploy().configPath);
    daemon.child.stdout.destroy();
    const client = await daemon.connect();
    for (let count = 1; count <= 200; count += 1) {
      client.write(echo(count));
      await client.replies(count);
    }
    daemon.child.kill("SIGTERM");
    expect(await exitOf(daemon.child)).toBe(0);
  });

  it("says which function ends the process, also within a worker", async () => {
    const module = `${PLAIN_HANDLERS}\nexport const leave = () => process.exit(3);`;
    const handler = { type: "registered_function", function: "odd.leave" };
    const file = endpointFile({ method: "EXECUTE", path: "/leaves", handler });
    const files = { "odd.mjs": module, "endpoints/leaves.toml": file };
    for (const workers of [1, 2]) {
      const daemon = await startProgram(deploy({ server: { workers } }, files).configPath);
      (await daemon.connect()).write(call("EXECUTE", "/leaves"));
      const fault = await daemon.line("fault");
      expect(fault["message"]).toBe("a function of the deployment ended the process with code 3");
      expect(fault["trace"]).toMatch(/\bodd\.mjs\b/);
      expect(workers === 1 ? await exitOf(daemon.child) : 3).toBe(3);
    }
  });

  it("has the log alone on standard output, whatever a function prints, also within a worker", async () => {
    const module = `${PLAIN_HANDLERS}\nconsole.info("loaded");\nexport const talk = () => { console.log("talked"); return { body: {} }; };`;
    const handler = { type: "registered_function", function: "odd.talk" };
    const file = endpointFile({ method: "EXECUTE", path: "/talks", handler });
    const files = { "odd.mjs": module, "endpoints/talks.toml": file };
    for (const workers of [1, 2]) {
      const daemon = await startProgram(deploy({ server: { workers } }, files).configPath);
      const client = await daemon.connect();
      client.write(call("EXECUTE", "/talks"));
      expect((await client.replies(1))[0]?.status).toBe(200);
      daemon.child.kill("SIGTERM");
      const { stdout, stderr } = await daemon.outcome;
      for (const line of stdout.trimEnd().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
      expect(stderr).toContain("loaded\n");
      expect(stderr).toContain("talked\n");
    }
  });

  it("goes on when the reader stalls, and still drains", async () => {
    const daemon = await startProgram(deploy().configPath);
    daemon.child.stdout.pause();
    const client = await daemon.connect();
    // Far more lines than a pipe holds.
    const batch = Buffer.concat(Array.from({ length: 500 }, () => call("QUERY", "/echoes")));
    for (let count = 1; count <= 10; count += 1) {
      client.write(batch);
      expect(await client.replies(500 * count)).toHaveLength(500 * count);
    }
    daemon.child.kill("SIGTERM");
    expect(await exitOf(daemon.child)).toBe(0);
  });
});

function exitOf(child: {
  once(event: "exit", listener: (code: number | null) => void): unknown;
}): Promise<number | null> {
  return new Promise((resolve) => child.once("exit", resolve));
}
