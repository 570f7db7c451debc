import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { startDaemon } from "../../src/app/daemon.ts";
import { createLog } from "../../src/base/log.ts";
import { VERSION } from "../../src/base/version.ts";
import { openDaemon, type TestDaemon } from "../support/daemon.ts";
import { makeDeployment } from "../support/deployment.ts";
import { encodeRequest } from "../support/dispatch.ts";
import { JUDGE, NORA, negotiationFiles, propose } from "../support/negotiation.ts";
import { listen } from "../support/port.ts";
import { call, echo, serverFiles } from "../support/server-deployment.ts";

const ENABLED = { metrics: { enabled: true, port: 0 } };

function metricsUrl({ log }: TestDaemon): string {
  const ready = log.find(({ event }) => event === "listening");
  return `http://127.0.0.1:${ready?.["metrics_port"]}/metrics`;
}

async function scrape(server: TestDaemon): Promise<readonly string[]> {
  const response = await fetch(metricsUrl(server));
  expect(response.status).toBe(200);
  return (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

describe("the Prometheus endpoint", () => {
  it("is off by default", async () => {
    const { log } = await openDaemon(serverFiles());
    expect(log.find(({ event }) => event === "listening")).not.toHaveProperty("metrics_port");
  });

  it("counts requests by method, status and endpoint template, and times them", async () => {
    const server = await openDaemon(serverFiles(ENABLED));
    const client = await server.connect();
    client.write(Buffer.concat([echo(1), echo(2), call("QUERY", "/echoes", { number: "no" })]));
    await client.replies(3);
    const lines = await scrape(server);
    const series = '{method="QUERY",status="200",endpoint="/echoes"}';
    expect(lines).toContain(`agtp_requests_total${series} 2`);
    expect(lines).toContain(`agtp_requests_total${series.replace("200", "422")} 1`);
    expect(lines).toContain(
      'agtp_request_duration_seconds_count{method="QUERY",endpoint="/echoes"} 3',
    );
    expect(lines).toContain("agtp_open_connections 1");
    expect(lines.some((line) => /^agtp_event_loop_delay_seconds \d/.test(line))).toBe(true);
  });

  it("has the process and its Node beside them, as other programs tell them", async () => {
    const server = await openDaemon(serverFiles(ENABLED));
    const lines = await scrape(server);
    const valueOfMetric = (name: string): number =>
      Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1));
    expect(valueOfMetric("process_resident_memory_bytes")).toBeGreaterThan(1_000_000);
    expect(valueOfMetric("process_cpu_seconds_total")).toBeGreaterThan(0);
    expect(valueOfMetric("process_open_fds")).toBeGreaterThan(0);
    expect(valueOfMetric("process_start_time_seconds")).toBeLessThan(Date.now() / 1000);
    expect(valueOfMetric("nodejs_heap_size_used_bytes")).toBeGreaterThan(1_000_000);
    expect(valueOfMetric("nodejs_external_memory_bytes")).toBeGreaterThan(0);
    expect(lines).toContain(`agtp_build_info{version="${VERSION}",node="${process.version}"} 1`);
  });

  it("has what its page lists, and nothing else", async () => {
    const server = await openDaemon(serverFiles(ENABLED));
    const text = await (await fetch(metricsUrl(server))).text();
    const served = [...text.matchAll(/^# HELP (\w+) /gm)].map(([, name]) => name);
    const page = readFileSync("docs/reference/metrics.md", "utf8");
    const listed = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(served.toSorted()).toEqual(listed.toSorted());
  });

  it("says beside them that the daemon is ready, and nothing once it drains", async () => {
    const server = await openDaemon(serverFiles(ENABLED));
    const url = metricsUrl(server).replace("/metrics", "/readyz");
    const response = await fetch(url);
    expect([response.status, await response.json()]).toEqual([200, { ready: true }]);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect((await fetch(url, { method: "POST" })).status).toBe(404);
    expect((await fetch(url.replace("/readyz", "/__proto__"))).status).toBe(404);
    await server.daemon.drain();
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });

  it("gets no new series from a stranger's methods and paths", async () => {
    const server = await openDaemon(serverFiles(ENABLED));
    const client = await server.connect();
    const names = (lines: readonly string[]) => lines.map((line) => line.replace(/ \S+$/, ""));
    client.write(Buffer.concat([call("X0", "/p0"), call("QUERY", "/p0"), call("QUERY", "/a b")]));
    await client.closed();
    const before = names(await scrape(server));
    const other = await server.connect();
    for (let index = 1; index < 50; index += 1) {
      other.write(Buffer.concat([call(`X${index}`, `/p${index}`), call("QUERY", `/p${index}`)]));
    }
    await other.replies(98);
    expect(names(await scrape(server))).toEqual(before);
    expect(before.join("\n")).not.toMatch(/X0|p0/);
  });

  it("counts all contracts as one endpoint, whatever paths agents choose for them", async () => {
    const server = await openDaemon(negotiationFiles(ENABLED));
    const client = await server.connect();
    const headers = { "Agent-ID": NORA };
    for (const path of ["/verdicts-a", "/verdicts-b"]) {
      client.write(encodeRequest({ ...propose({ ...JUDGE, path }), headers }));
      client.write(encodeRequest({ method: "EVALUATE", path, headers, body: { subject: "barn" } }));
    }
    const replies = await client.replies(4);
    expect(replies.map(({ status }) => status)).toEqual([263, 200, 263, 200]);
    const lines = await scrape(server);
    const series = '{method="EVALUATE",status="200",endpoint="contract"}';
    expect(lines).toContain(`agtp_requests_total${series} 2`);
    expect(lines.join("\n")).not.toContain("verdicts-");
  });

  it("counts who was told to come later, by what there was too much of", async () => {
    const server = await openDaemon(
      serverFiles({ ...ENABLED, limits: { requests_per_second: 1 } }),
    );
    const client = await server.connect();
    client.write(Buffer.concat([echo(1), echo(2), echo(3)]));
    const replies = await client.replies(3);
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    const lines = await scrape(server);
    expect(lines).toContain(`agtp_rate_limited_total{scope="requests"} ${refused.length}`);
  });

  it("counts connections down again", async () => {
    const server = await openDaemon(serverFiles(ENABLED));
    const clients = [await server.connect(), await server.connect()];
    expect(await scrape(server)).toContain("agtp_open_connections 2");
    for (const client of clients) client.end();
    await Promise.all(clients.map((client) => client.closed()));
    expect(await scrape(server)).toContain("agtp_open_connections 0");
  });

  it("serves nothing else", async () => {
    const server = await openDaemon(serverFiles(ENABLED));
    const url = metricsUrl(server);
    expect((await fetch(`${url}/other`)).status).toBe(404);
    expect((await fetch(url, { method: "POST" })).status).toBe(404);
    expect((await fetch(`${url}?name=a`)).status).toBe(200);
  });

  // RFC 9110 §9.1: every server has HEAD where it has GET; load balancers ask by it.
  it.each(["/metrics", "/readyz"])("answers HEAD %s as GET, without the body", async (path) => {
    const server = await openDaemon(serverFiles(ENABLED));
    const url = metricsUrl(server).replace("/metrics", path);
    const [asked, got] = [await fetch(url, { method: "HEAD" }), await fetch(url)];
    expect([asked.status, await asked.text()]).toEqual([200, ""]);
    expect(asked.headers.get("content-type")).toBe(got.headers.get("content-type"));
    expect(await got.text()).not.toBe("");
  });

  it("that cannot have its port stops the start with a problem that says so", async () => {
    const port = await listen(createServer());
    const { configPath } = makeDeployment(serverFiles({ metrics: { enabled: true, port } }));
    const log = createLog("silent", { write: () => undefined, flush: () => Promise.resolve() });
    const result = await startDaemon({ configPath, env: {}, log });
    expect(result.kind === "refused" && result.problems).toEqual([
      {
        file: "agtp-server.toml",
        key: "metrics.port",
        message: expect.stringContaining(`cannot listen on 127.0.0.1 port ${port}: `),
        hint: "choose another port there; 0 is any free one",
      },
    ]);
  });
});
