import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { queryObjects } from "node:v8";
import { describe, expect, it } from "vitest";
import { Pipeline } from "../../src/dispatch/pipeline.ts";
import { makeCertificate } from "../support/certificate.ts";
import { askOnce, openDaemon, type TestDaemon } from "../support/daemon.ts";
import { configFile, type DeploymentFiles, endpointFile } from "../support/deployment.ts";
import { PATIENCE } from "../support/patience.ts";
import { bus, call, echo, heard, serverFiles, type Tables } from "../support/server-deployment.ts";

const NEW_ENDPOINT = endpointFile({ method: "QUERY", path: "/novelties" });

function write({ directory }: TestDaemon, files: DeploymentFiles): void {
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(directory, name), content);
  }
}

function writeConfig(server: TestDaemon, tables: Tables): void {
  const { "agtp-server.toml": config = "" } = serverFiles(tables);
  write(server, { "agtp-server.toml": config });
}

/** A problem that stops a start; what is only odd is logged as a warning. */
function isErrorLine({ event, level }: Readonly<Record<string, unknown>>): boolean {
  return event === "problem" && level === "error";
}

async function ask(server: TestDaemon, request: Buffer) {
  const reply = await askOnce(server, request);
  return { status: reply?.status, body: reply?.body };
}

async function certificateOf(server: TestDaemon): Promise<string> {
  const client = await server.connect();
  const { fingerprint256 } = client.socket.getPeerCertificate();
  client.destroy();
  return fingerprint256;
}

// formats "Programs": SIGHUP builds a whole new configuration and swaps it.
describe("a reload", () => {
  it("serves a new endpoint file, and no longer one that is gone", async () => {
    const server = await openDaemon(serverFiles());
    write(server, { "endpoints/novelties.toml": NEW_ENDPOINT });
    rmSync(join(server.directory, "endpoints/blobs.toml"));
    expect((await ask(server, call("QUERY", "/novelties"))).status).toBe(404);
    expect(await server.daemon.reload()).toEqual([]);
    const manifest = (await ask(server, Buffer.from("AGTP/1.0 DISCOVER /\r\n\r\n"))).body;
    expect((await ask(server, call("QUERY", "/blobs", { size: 1 }))).status).toBe(404);
    const paths = Object.values(manifest?.["endpoints"] ?? {}).map(({ path }) => path);
    expect(paths).toContain("/novelties");
    expect(paths).not.toContain("/blobs");
  });

  it("keeps nothing of the deployments before in memory, the first included", async () => {
    const gateway = { enabled: true, port: 0 };
    const server = await openDaemon(serverFiles({ gateway, console: gateway }));
    const countServed = (): number => queryObjects(Pipeline, { format: "count" });
    const served = countServed();
    for (let round = 0; round < 2; round += 1) {
      expect(await server.daemon.reload()).toEqual([]);
      expect((await ask(server, call("QUERY", "/blobs", { size: 1 }))).status).toBe(200);
    }
    await expect.poll(countServed, PATIENCE).toBeLessThanOrEqual(served);
  });

  it("runs the handlers' code as it is then", async () => {
    const server = await openDaemon(serverFiles());
    write(server, {
      "handlers.mjs": readFileSync(join(server.directory, "handlers.mjs"), "utf8").replace(
        "body: input }",
        "body: { changed: true } }",
      ),
    });
    expect((await ask(server, echo(5))).body?.["number"]).toBe(5);
    await server.daemon.reload();
    expect((await ask(server, echo(5))).body).toEqual({ changed: true });
  });

  it("swaps policies, on connections that are open as well", async () => {
    const server = await openDaemon(serverFiles());
    const client = await server.connect();
    client.write(echo(1));
    await client.replies(1);
    writeConfig(server, { policies: { identity: { unknown_agents: "reject" } } });
    await server.daemon.reload();
    client.write(echo(2));
    const replies = await client.replies(2);
    expect(replies.map(({ status }) => status)).toEqual([200, 401]);
  });

  it("gives new connections the new limits", async () => {
    const server = await openDaemon(serverFiles());
    writeConfig(server, { limits: { idle_timeout_ms: 100, max_connections: 1 } });
    await server.daemon.reload();
    const client = await server.connect();
    expect(await client.closed()).toEqual([]);
  });

  it("shows a new certificate to new connections, and keeps the old ones", async () => {
    const files = await makeCertificate().then(({ cert, key }) => ({
      "tls/cert.pem": cert,
      "tls/key.pem": key,
    }));
    const tls = { cert: "tls/cert.pem", key: "tls/key.pem" };
    const server = await openDaemon(serverFiles({ tls }, files));
    const old = await server.connect();
    expect(await certificateOf(server)).toBe(server.daemon.fingerprint256);
    const before = server.daemon.fingerprint256;
    const { cert, key } = await makeCertificate();
    write(server, { "tls/cert.pem": cert, "tls/key.pem": key });
    expect(await server.daemon.reload()).toEqual([]);
    expect(await certificateOf(server)).not.toBe(before);
    expect(await certificateOf(server)).toBe(server.daemon.fingerprint256);
    expect(server.log.at(-1)?.["event"]).not.toBe("problem");
    old.write(echo(1));
    expect((await old.replies(1))[0]?.status).toBe(200);
  });

  it("asks new connections for a client certificate once it is required", async () => {
    const { cert, key } = await makeCertificate();
    const files = { "tls/ca.pem": cert };
    const server = await openDaemon(serverFiles({}, { ...files, "tls/unused": "" }));
    writeConfig(server, { tls: { client_auth: "required", client_ca: "tls/ca.pem" } });
    expect(await server.daemon.reload()).toEqual([]);
    const stranger = await server.connect().catch(() => undefined);
    expect((await stranger?.closed()) ?? []).toEqual([]);
    const known = await server.connect({ cert, key });
    known.write(echo(1));
    expect(await known.replies(1)).toHaveLength(1);
  });

  it("says which changes wait for a restart", async () => {
    const server = await openDaemon(serverFiles());
    writeConfig(server, { metrics: { enabled: true, port: 0 } });
    expect(await server.daemon.reload()).toEqual([]);
    const warnings = server.log.filter(({ event }) => event === "problem");
    expect(warnings.map(({ key }) => key)).toEqual(["metrics.enabled", "metrics.port"]);
    expect(server.log.at(-1)?.["event"]).toBe("reloaded");
  });

  it("lets a request that runs finish as it began", async () => {
    const server = await openDaemon(serverFiles());
    const client = await server.connect();
    const started = heard("started", "across");
    client.write(Buffer.concat([call("EXECUTE", "/gates", { id: "across" }), echo(2)]));
    await started;
    rmSync(join(server.directory, "endpoints/gates.toml"));
    rmSync(join(server.directory, "endpoints/echoes.toml"));
    await server.daemon.reload();
    bus.emit("release across");
    const replies = await client.replies(2);
    expect(replies.map(({ status }) => status)).toEqual([200, 404]);
  });

  it("holds a running request to the deadline it began with", async () => {
    const server = await openDaemon(serverFiles({ limits: { handler_timeout_ms: 200 } }));
    const client = await server.connect();
    const started = heard("started", "timed");
    client.write(call("EXECUTE", "/gates", { id: "timed" }));
    await started;
    writeConfig(server, {});
    await server.daemon.reload();
    const [reply] = await client.replies(1);
    expect(reply?.status).toBe(500);
  });
});

describe("a reload with a problem", () => {
  it.each([
    ["a configuration that is not TOML", { "agtp-server.toml": "[server" }],
    ["an unknown key", { "agtp-server.toml": configFile({ limits: { speed: 1 } }) }],
    ["a bad endpoint", { "endpoints/bad.toml": "[endpoint]\nmethod = 1\n" }],
    ["a handler that is not there", { "handlers.mjs": "export const other = 1;" }],
    ["a bad recipe", { "recipes/bad.toml": "[[recipe]]\nname = 1\nversion = 1\n" }],
    ["a bad agent", { "agents/bad.agent.json": "{" }],
    ["a catalog that is not JSON", { "catalog/methods.json": "{" }],
    ["a certificate that is no certificate", { "tls/cert.pem": "nonsense" }],
    [
      "a client CA that is no certificate",
      {
        "tls/ca.pem": "nonsense",
        "agtp-server.toml": configFile({
          tls: { client_auth: "optional", client_ca: "tls/ca.pem" },
        }),
      },
    ],
  ])("changes nothing, and logs the problem: %s", async (_, files: DeploymentFiles) => {
    const { cert, key } = await makeCertificate();
    const tls = { cert: "tls/cert.pem", key: "tls/key.pem" };
    const server = await openDaemon(
      serverFiles(
        { tls },
        { "tls/cert.pem": cert, "tls/key.pem": key, "agents/x": "", "recipes/x": "" },
      ),
    );
    const fingerprint = server.daemon.fingerprint256;
    write(server, { "endpoints/novelties.toml": NEW_ENDPOINT, ...files });
    const problems = await server.daemon.reload();
    expect(problems.length).toBeGreaterThan(0);
    expect(server.log.filter(isErrorLine)).toHaveLength(problems.length);
    expect(server.log.at(-1)?.["event"]).toBe("reload-refused");
    expect((await ask(server, call("QUERY", "/novelties"))).status).toBe(404);
    expect((await ask(server, echo(1))).body?.["number"]).toBe(1);
    expect(await certificateOf(server)).toBe(fingerprint);
  });

  it("logs every problem of every file", async () => {
    const server = await openDaemon(serverFiles());
    write(server, {
      "endpoints/bad.toml": "[endpoint]\nmethod = 1\n",
      "endpoints/worse.toml": "[[",
      "handlers.mjs": "export const echo = 1;",
    });
    const problems = await server.daemon.reload();
    const files = new Set(problems.map(({ file }) => file));
    expect(files).toContain("endpoints/bad.toml");
    expect(files).toContain("endpoints/worse.toml");
    expect(files).toContain("endpoints/echoes.toml");
  });

  it("is over once the files are good again", async () => {
    const server = await openDaemon(serverFiles());
    mkdirSync(join(server.directory, "kept"));
    const config = join(server.directory, "agtp-server.toml");
    copyFileSync(config, join(server.directory, "kept/config"));
    write(server, { "agtp-server.toml": "[" });
    expect(await server.daemon.reload()).not.toEqual([]);
    copyFileSync(join(server.directory, "kept/config"), config);
    write(server, { "endpoints/novelties.toml": NEW_ENDPOINT });
    expect(await server.daemon.reload()).toEqual([]);
    expect((await ask(server, call("QUERY", "/novelties"))).status).not.toBe(404);
  });
});

describe("many reloads", () => {
  it("leave no listeners, timers or descriptors behind", async () => {
    const server = await openDaemon(serverFiles());
    const client = await server.connect();
    await server.daemon.reload();
    const reloads = 15;
    const before = resources();
    for (let count = 0; count < reloads; count += 1) {
      expect(await server.daemon.reload()).toEqual([]);
    }
    // A timer of the moment comes and goes; what a reload leaves behind is there once for each.
    const left = Object.entries(resources()).filter(
      ([name, count]) => count - (before[name] ?? 0) >= reloads,
    );
    expect(left).toEqual([]);
    client.write(echo(1));
    expect(await client.replies(1)).toHaveLength(1);
  });
});

function resources(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  // Work in the thread pool and time-outs of one tick come and go.
  const kept = process.getActiveResourcesInfo().filter((name) => !/FSReq|Immediate/.test(name));
  for (const name of kept) counts[name] = (counts[name] ?? 0) + 1;
  for (const event of process.eventNames()) {
    counts[String(event)] = process.listenerCount(event);
  }
  return counts;
}
