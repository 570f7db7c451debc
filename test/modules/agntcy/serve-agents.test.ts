/** Agents behind a daemon: found or refused at the start, listed, described, kept through restarts. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { checkDeployment } from "../../../src/app/daemon.ts";
import { createLog } from "../../../src/base/log.ts";
import { formatProblem } from "../../../src/base/problem.ts";
import type { AcpServer } from "../../support/acp-server.ts";
import { send, startAcpServer } from "../../support/acp-server.ts";
import {
  type Ask,
  agentManifest,
  askThrough,
  confirm,
  deploymentManifest,
  execute,
  type HostedOptions,
  hostedFiles,
  MAIL_SPECS,
  MAYA,
  oasfRecord,
  openAcp,
  openHosted,
  query,
  remote,
  SOURCE,
} from "../../support/agntcy.ts";
import { startProgram } from "../../support/agtpd.ts";
import { createDaemon } from "../../support/daemon.ts";
import {
  agentFile,
  createDeployment,
  endpointFile,
  makeDeployment,
} from "../../support/deployment.ts";
import { PATIENCE } from "../../support/patience.ts";
import { refusalOf } from "../../support/waiting.ts";

const DESCRIBE = { method: "DESCRIBE", path: "/mailcomposer" };
const AGENTS = { method: "DISCOVER", path: "/agents" };

/** What keeps a deployment from serving all of its agents. */
async function problemsOf(server: AcpServer, options: HostedOptions = {}) {
  const { configPath } = makeDeployment(hostedFiles(server, options));
  const log = createLog("error", { write: () => undefined, flush: () => Promise.resolve() });
  const found = await checkDeployment({ configPath, env: options.env ?? {}, log });
  return found.filter(({ severity }) => severity !== "warning").map(formatProblem);
}

async function listed(ask: Ask): Promise<readonly Record<string, unknown>[]> {
  return (await ask(MAYA, AGENTS)).body as unknown as Record<string, unknown>[];
}

describe("an agent's endpoints", () => {
  it("are listed like any other, with the manifest's schemas", async () => {
    const { ask } = await openHosted(await openAcp());
    const methods = await ask(MAYA, { method: "DISCOVER", path: "/methods" });
    const own = (methods.body as unknown as Record<string, unknown>[]).filter(({ path }) =>
      String(path).startsWith("/mailcomposer"),
    );
    expect(own.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
      "CONFIRM /mailcomposer/runs/{run_id}",
      "CREATE /mailcomposer/threads",
      "DESCRIBE /mailcomposer",
      "EXECUTE /mailcomposer",
      "QUERY /mailcomposer/runs/{run_id}",
      "QUERY /mailcomposer/runs/{run_id}/events",
      "QUERY /mailcomposer/threads/{thread_id}",
    ]);
    const manifest = await ask(MAYA, {
      ...{ method: "DISCOVER", path: "/" },
      headers: { Accept: "application/vnd.agtp.manifest+json" },
    });
    const endpoints = manifest.body["endpoints"] as unknown as Record<string, never>[];
    const found = endpoints.find(
      ({ method, path }) => method === "EXECUTE" && path === "/mailcomposer",
    );
    expect(found).toMatchObject({
      input_schema: {
        properties: { input: { properties: { message: { type: "string" } } } },
        required: ["input"],
        additionalProperties: false,
      },
      semantic: { intent: "Composes mails.", impact: "irreversible", is_idempotent: false },
      handler: { type: "registered_function" },
    });
  });

  it("are found by what they are for, and can be called by that answer", async () => {
    const { ask } = await openHosted(await openAcp());
    const body = { intent: "compose a mail" };
    const reply = await ask(MAYA, { method: "QUERY", path: "/", body });
    expect(reply.text).toContain("EXECUTE /mailcomposer");
  });

  it("are found by agents in the zone that the programs make agents in", async () => {
    const zone = { governance_zone: "zone:default" };
    const maya = agentFile({ agent_id: MAYA, name: "maya", ...zone });
    const files = { "agents/maya.agent.json": maya };
    const { ask } = await openHosted(await openAcp(), { files });
    const body = { criteria: "mail", filter: { kind: "agent" } };
    const reply = await ask(MAYA, { method: "DISCOVER", path: "/", body });
    const [first] = Object.values(reply.body["result"]?.["candidates"] ?? {});
    expect(first, reply.text).toMatchObject({ name: "org.agntcy.mailcomposer", ...zone });
  });

  it("describe the agent, and not where its server is", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server);
    const reply = await ask(MAYA, DESCRIBE);
    expect(reply.body).toMatchObject({
      ...{ name: "org.agntcy.mailcomposer", version: "0.0.1", callable: true },
      ...{ status: "verified", protocol: "agntcy-acp", dependencies: [] },
      capabilities: { threads: true, interrupts: true, cancel: false },
      required_scopes: ["mailcomposer:execute"],
    });
    expect(reply.text).not.toContain(server.url);
    expect(reply.body["agent_id"]).toBe(
      (await listed(ask)).find(({ name }) => name === "org.agntcy.mailcomposer")?.["agent_id"],
    );
  });
});

describe("an agent's identity", () => {
  it("that is suspended does nothing for anybody", async () => {
    const identity = { lifecycle_auth: "open" };
    const { ask } = await openHosted(await openAcp(), { tables: { policies: { identity } } });
    const own = (await listed(ask)).find(({ name }) => name === "org.agntcy.mailcomposer");
    const body = { agent_id: own?.["agent_id"] };
    const suspended = await ask(MAYA, { method: "DEACTIVATE", path: "/", body });
    expect(suspended.status, suspended.text).toBe(200);
    const reply = await ask(MAYA, execute());
    expect(refusalOf(reply)).toEqual([422, "agent_unavailable"]);
    expect(reply.text).toContain("the agent is suspended");
  });

  it("is the operator's where an identity document has its name", async () => {
    const id = "4".repeat(64);
    const name = "org.agntcy.mailcomposer";
    const files = { "agents/mail.agent.json": agentFile({ agent_id: id, name }) };
    const { ask } = await openHosted(await openAcp(), { files });
    const named = (await listed(ask)).filter((one) => one["name"] === name);
    expect(named.map(({ agent_id }) => agent_id)).toEqual([id]);
    expect((await ask(MAYA, DESCRIBE)).body["agent_id"]).toBe(id);
    for (const action of [name, id]) {
      const body = { action, parameters: { input: { message: "hi" }, wait_seconds: 10 } };
      const done = await ask(MAYA, { method: "EXECUTE", path: "/", body });
      expect(done.body["result"], done.text).toMatchObject({ status: "success" });
    }
  });
});

describe("an agent at the start", () => {
  it.each([
    ["agent-manifest", agentManifest],
    ["deployment-manifest", deploymentManifest],
    ["oasf-record", oasfRecord],
  ] as const)("is served from the shape %s", async (_, build) => {
    const server = await openAcp();
    const manifest = (url: string) => build({ options: [SOURCE, remote(url)] });
    const { ask } = await openHosted(server, { manifest });
    expect((await ask(MAYA, execute())).status).toBe(200);
  });

  it("is found by the id that its manifest names", async () => {
    const server = await openAcp();
    const manifest = (url: string) =>
      agentManifest({ options: [remote(url, { agent_id: server.agentId })] });
    const { ask } = await openHosted(server, { manifest });
    expect((await ask(MAYA, execute())).status).toBe(200);
    expect(server.seen.some(({ line }) => line.includes("/agents/search"))).toBe(false);
  });

  it("may be described in other words", async () => {
    const specs = {
      ...MAIL_SPECS,
      input: { title: "Input", ...(MAIL_SPECS["input"] as object), description: "Said." },
    };
    expect(await problemsOf(await openAcp({ specs }))).toEqual([]);
  });

  it.each<[string, Partial<Parameters<typeof openAcp>[0]> & object, string]>([
    [
      "of another name",
      { name: "org.agntcy.other" },
      "does not have org.agntcy.mailcomposer 0.0.1",
    ],
    ["of another version", { version: "0.0.2" }, "does not have org.agntcy.mailcomposer 0.0.1"],
    [
      "with another input",
      { specs: { ...MAIL_SPECS, input: { type: "object", properties: { text: {} } } } },
      "describes it otherwise than its manifest: /specs/input/properties/message is an object here and is absent there",
    ],
    [
      "that can do less",
      { specs: { ...MAIL_SPECS, capabilities: { threads: true, interrupts: true } } },
      "/specs/capabilities/streaming/values is true here and is false there",
    ],
    [
      "that asks otherwise",
      {
        specs: {
          ...MAIL_SPECS,
          interrupts: [
            { interrupt_type: "mail_send_approval", interrupt_payload: {}, resume_payload: {} },
          ],
        },
      },
      '/specs/interrupts/mail_send_approval/interrupt_payload/type is "object" here and is absent',
    ],
    ["that is none", { specs: {} }, "describes it otherwise than its manifest: /specs ("],
    [
      "behind a key that nobody has",
      { apiKey: "k" },
      "the upstream answered 401 (credentials are taken from ORG_AGNTCY_MAILCOMPOSER_API_KEY, " +
        "ORG_AGNTCY_MAILCOMPOSER_ACCESS_TOKEN or ORG_AGNTCY_MAILCOMPOSER_USERNAME)",
    ],
  ])("%s is refused, and the rest is served", async (_, options, expected) => {
    const server = await openAcp(options);
    expect((await problemsOf(server)).join("\n")).toContain(expected);
    const { ask } = await openHosted(server);
    const refused = refusalOf(await ask(MAYA, execute()));
    expect(refused[0], String(refused[1])).toBe(422);
    const described = await ask(MAYA, DESCRIBE);
    expect(described.body).toMatchObject({ callable: false, status: "unverified" });
    expect(described.text).not.toContain("ORG_AGNTCY_MAILCOMPOSER_API_KEY");
    expect((await ask(MAYA, { method: "DISCOVER", path: "/" })).status).toBe(200);
  });

  it.each(["run_id", "id"])(
    "is not served where a file has one of its pairs, whose parameter is called %s",
    async (name) => {
      const server = await openAcp();
      const own = endpointFile({
        ...{ method: "QUERY", path: `/mailcomposer/runs/{${name}}` },
        properties: { [name]: { type: "string" } },
      });
      const handlers = "export const echo = ({ input }) => ({ body: { input } });";
      const files = { "endpoints/own.toml": own, "handlers.mjs": handlers };
      const problem =
        "agents/agntcy/mail.json: is not served, QUERY /mailcomposer/runs/{run_id} is already an endpoint of endpoints/own.toml";
      expect(await problemsOf(server, { files })).toEqual([problem]);
      const { ask } = await openHosted(server, { files });
      expect((await ask(MAYA, execute())).status).toBe(404);
    },
  );

  it("whose server is down is refused", async () => {
    const server = await openAcp();
    await server.close();
    expect((await problemsOf(server)).join()).toContain("the upstream cannot be reached");
  });

  it("whose server nobody vouches for is refused", async () => {
    const server = await openAcp();
    expect((await problemsOf(server, { settings: { ca: undefined } })).join()).toContain(
      "cannot be reached",
    );
  });

  it("shows its credentials to its server alone", async () => {
    const server = await openAcp({ apiKey: "sesame" });
    const env = { ORG_AGNTCY_MAILCOMPOSER_API_KEY: '{"x-api-key":"sesame"}' };
    const { ask, daemon } = await openHosted(server, { env });
    const done = await ask(MAYA, execute());
    expect(done.status).toBe(200);
    const describe = await ask(MAYA, DESCRIBE);
    expect(done.text + describe.text + JSON.stringify(daemon.log)).not.toContain("sesame");
  });

  it("is warned of where another one is given its credentials by a name that is all but its own", async () => {
    const other = agentManifest({
      name: "org.agntcy-mailcomposer",
      options: [remote("https://mail.example")],
    });
    const agent = { manifest: "agents/agntcy/mail.json", ca: "ca.pem", deferred: true };
    const more = { ...agent, manifest: "agents/agntcy/other.json", base: "/other" };
    const again = { ...agent, base: "/again" };
    const files = hostedFiles(await openAcp(), {
      tables: { agntcy: [{ ...agent, base: "/mailcomposer" }, more, again] as unknown as object },
      files: { "agents/agntcy/other.json": JSON.stringify(other) },
    });
    const { configPath } = makeDeployment(files);
    const log = createLog("error", { write: () => undefined, flush: () => Promise.resolve() });
    const warned = async (env: Readonly<Record<string, string>>): Promise<readonly string[]> =>
      (await checkDeployment({ configPath, env, log }))
        .map(formatProblem)
        .filter((one) => one.includes("agntcy"));
    expect(await warned({})).toEqual([]);
    expect(await warned({ ORG_AGNTCY_MAILCOMPOSER_API_KEY: "sesame" })).toEqual([
      expect.stringContaining(
        'agntcy[1].manifest: "org.agntcy-mailcomposer" has the variables of "org.agntcy.mailcomposer", ORG_AGNTCY_MAILCOMPOSER_',
      ),
    ]);
  });

  it.each<[string, HostedOptions, string]>([
    [
      "a base that is a method",
      { settings: { base: "/search" } },
      'segment "search" is the name of a method',
    ],
    ["the root as base", { settings: { base: "/" } }, "belongs to the protocol"],
    ["a base that nobody could ask for", { settings: { base: "/mail/" } }, 'ends with "/"'],
    ["a parameter in its base", { settings: { base: "/a/{b}" } }, "agntcy[0].base: "],
    [
      "an option that there is not",
      { settings: { option: "svc" } },
      'no deployment option is called "svc"',
    ],
    ["a CA that is none", { files: { "ca.pem": "hello" } }, "agntcy[0].ca: "],
    [
      "a manifest that is not there",
      { settings: { manifest: "nowhere.json" } },
      "nowhere.json: does not exist",
    ],
    [
      "plain http elsewhere",
      {
        manifest: () => agentManifest({ options: [remote("http://agents.acme.example")] }),
        settings: { allow_http: true },
      },
      "must use https",
    ],
    [
      "an address of the cloud's own",
      { manifest: () => agentManifest({ options: [remote("https://169.254.169.254")] }) },
      "is an address that no service has",
    ],
    [
      "a dependency that is not known",
      {
        manifest: (url) =>
          agentManifest({ options: [remote(url)], dependencies: [{ name: "a", version: "1" }] }),
      },
      '/dependencies/0: "a" no manifest of "a" "1" is known here',
    ],
  ])("with %s is refused by a message that says so", async (_, options, expected) => {
    expect((await problemsOf(await openAcp(), options)).join("\n")).toContain(expected);
  });

  it("is refused on a path that another one has", async () => {
    const server = await openAcp();
    const agent = { manifest: "agents/agntcy/mail.json", ca: "ca.pem", base: "/mailcomposer" };
    const problems = await problemsOf(server, {
      tables: { agntcy: [agent, agent] as unknown as object },
    });
    expect(problems).toEqual([
      'agtp-server.toml: agntcy[1].base: "/mailcomposer" is the path of another agent',
    ]);
  });

  it("is called over plain http on this machine, where the operator says so", async () => {
    const server = await openAcp({ isPlain: true });
    expect((await problemsOf(server)).join()).toContain(
      "plain http on loopback takes allow_http = true",
    );
    const { ask } = await openHosted(server, { settings: { allow_http: true } });
    expect((await ask(MAYA, execute())).status).toBe(200);
  });

  it("needs its services to be there, and shows how they stand", async () => {
    const server = await openAcp();
    const other = await openAcp({ name: "org.agntcy.reviewer", version: "1.0.0", isPlain: true });
    const dependency = {
      name: "reviewer",
      ref: { name: "org.agntcy.reviewer", version: "1.0.0", url: "reviewer.json" },
    };
    const reviewer = (url: string) =>
      JSON.stringify(
        agentManifest({ name: "org.agntcy.reviewer", version: "1.0.0", options: [remote(url)] }),
      );
    const options: HostedOptions = {
      manifest: (url) => agentManifest({ options: [remote(url)], dependencies: [dependency] }),
      files: { "agents/agntcy/reviewer.json": reviewer(other.url) },
      settings: { allow_http: true },
    };
    const { ask } = await openHosted(server, options);
    expect((await ask(MAYA, DESCRIBE)).body["dependencies"]).toMatchObject([
      { name: "reviewer", status: "available", option: { type: "remote_service" } },
    ]);
    await other.close();
    expect((await problemsOf(server, options)).join()).toContain('its dependency "reviewer" fails');
  });
});

describe("an agent that is looked for on first use", () => {
  it("is served while its server is down, and called once it is up", async () => {
    const server = await openAcp();
    let isUp = false;
    server.fault = (_request, response) => {
      if (!isUp) response.destroy();
      return !isUp;
    };
    const { ask } = await openHosted(server, { settings: { deferred: true } });
    expect((await ask(MAYA, DESCRIBE)).body).toMatchObject({
      callable: true,
      status: "unverified",
    });
    expect(refusalOf(await ask(MAYA, execute()))).toEqual([422, "upstream_connection_error"]);
    isUp = true;
    await expect
      .poll(async () => (await ask(MAYA, execute())).status, { ...PATIENCE, interval: 200 })
      .toBe(200);
    expect((await ask(MAYA, DESCRIBE)).body["status"]).toBe("verified");
  });

  it("is refused then if it is another one", async () => {
    const server = await openAcp({ specs: { ...MAIL_SPECS, output: { type: "string" } } });
    const { ask } = await openHosted(server, { settings: { deferred: true } });
    const reply = await ask(MAYA, execute());
    expect(refusalOf(reply)).toEqual([422, "agent_unavailable"]);
    expect(reply.text).toContain("otherwise than its manifest: /specs/output/");
    expect(server.seen.some(({ line }) => line === "POST /runs")).toBe(false);
  });
});

describe("an agent that cannot be called here", () => {
  const docker = { type: "docker", name: "img", image: "https://ghcr.io/acme/mail:1" };

  it.each([
    ["source code", SOURCE],
    ["a docker image", docker],
  ])("because it is %s is listed as declared, with the reason", async (what, option) => {
    const server = await openAcp();
    const { ask } = await openHosted(server, {
      manifest: () =>
        agentManifest({ options: [option], dependencies: [{ name: "a", version: "1" }] }),
    });
    const described = await ask(MAYA, DESCRIBE);
    expect(described.body).toMatchObject({ callable: false, status: "declared" });
    expect(described.body["reason"]).toContain(what);
    expect(described.body["options"]).toMatchObject([{ callable: false }]);
    expect(described.body["endpoints"]).toEqual([DESCRIBE]);
    const entry = (await listed(ask)).find(({ name }) => name === "org.agntcy.mailcomposer");
    expect(entry).toMatchObject({ callable: false });
    expect(entry?.["reason"]).toContain(what);
    expect((await ask(MAYA, execute())).status).toBe(405);
    expect(server.seen).toEqual([]);
    const named = { method: "EXECUTE", path: "/", body: { action: "org.agntcy.mailcomposer" } };
    const reply = await ask(MAYA, named);
    expect(refusalOf(reply)).toEqual([404, "action-not-found"]);
    expect(reply.text).toContain(what);
  });

  it("says why under the identity that the operator gave it too", async () => {
    const name = "org.agntcy.mailcomposer";
    const { ask } = await openHosted(await openAcp(), {
      manifest: () => agentManifest({ options: [SOURCE] }),
      files: { "agents/mail.agent.json": agentFile({ agent_id: "4".repeat(64), name }) },
    });
    const entry = (await listed(ask)).find((one) => one["name"] === name);
    expect(entry).toMatchObject({ agent_id: "4".repeat(64), callable: false });
    expect(entry?.["reason"]).toContain("source code");
  });

  it("is called where the operator has deployed it", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server, {
      manifest: () => agentManifest({ options: [SOURCE] }),
      env: {
        ORG_AGNTCY_MAILCOMPOSER_ENDPOINT: server.url,
        ORG_AGNTCY_MAILCOMPOSER_ID: server.agentId,
      },
    });
    expect((await ask(MAYA, execute())).status).toBe(200);
  });
});

describe("a daemon that starts again", () => {
  async function open(deployment: ReturnType<typeof createDeployment>) {
    const daemon = await createDaemon(deployment);
    return { daemon, ask: askThrough(await daemon.connect()) };
  }

  it("knows its agents by the same ids, and its runs as they were", async () => {
    const server = await openAcp({
      script: ({ answers }) =>
        answers.length === 0
          ? { interrupt: { mail_send_approval: { subject: "a", body: "b" } } }
          : { success: { message: "sent" } },
    });
    const deployment = createDeployment(hostedFiles(server));
    onTestFinished(() => deployment.remove());
    const first = await open(deployment);
    const before = await listed(first.ask);
    const asked = await first.ask(MAYA, execute());
    const runId = asked.body["run_id"];
    await first.daemon.close();

    const second = await open(deployment);
    onTestFinished(() => second.daemon.close());
    expect(await listed(second.ask)).toEqual(before);
    const read = await second.ask(MAYA, query(runId));
    expect(read.body).toEqual(asked.body);
    const answer = { status: "accepted", resume_value: { approved: true }, wait_seconds: 10 };
    const done = await second.ask(MAYA, confirm(runId, answer));
    expect(done.body["output"], done.text).toEqual({ message: "sent" });
  });

  it("takes up the runs that were under way", async () => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = await openAcp({
      script: () => released.then(() => ({ success: { message: "meanwhile" } })),
    });
    const deployment = createDeployment(hostedFiles(server));
    onTestFinished(() => deployment.remove());
    const first = await open(deployment);
    const runId = (await first.ask(MAYA, execute({ wait_seconds: 0 }))).body["run_id"];
    await first.daemon.close();
    release();

    const second = await open(deployment);
    onTestFinished(() => second.daemon.close());
    await expect
      .poll(async () => (await second.ask(MAYA, query(runId))).body["status"], PATIENCE)
      .toBe("success");
  });

  it("asks for the end of a run whose time was over while it was away", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const server = await openAcp({ script: () => "never" });
    const deployment = createDeployment(hostedFiles(server));
    onTestFinished(() => deployment.remove());
    const first = await open(deployment);
    const runId = (await first.ask(MAYA, execute({ wait_seconds: 0 }))).body["run_id"];
    await first.daemon.close();
    const [run] = server.runs.values();
    const output = { type: "result", values: { message: "in time" } };
    if (run !== undefined) Object.assign(run, { status: "success", output });

    vi.setSystemTime(Date.now() + 3_600_000);
    const second = await open(deployment);
    onTestFinished(() => second.daemon.close());
    await expect
      .poll(async () => (await second.ask(MAYA, query(runId))).body["status"], PATIENCE)
      .toBe("success");
  });

  it("has lost nothing that it said, though it was killed", async () => {
    const server = await openAcp({ script: () => "never" });
    const { configPath } = makeDeployment(hostedFiles(server));
    const first = await startProgram(configPath);
    const ask = askThrough(await first.connect());
    const runId = (await ask(MAYA, execute({ wait_seconds: 0 }))).body["run_id"];
    const thread = await ask(MAYA, {
      method: "CREATE",
      path: "/mailcomposer/threads",
      body: {},
    });
    first.child.kill("SIGKILL");
    await first.outcome;

    for (const run of server.runs.values()) {
      Object.assign(run, {
        status: "success",
        output: { type: "result", values: { message: "x" } },
      });
    }
    const second = await startProgram(configPath);
    const again = askThrough(await second.connect());
    await expect
      .poll(async () => (await again(MAYA, query(runId))).body["status"], PATIENCE)
      .toBe("success");
    const path = `/mailcomposer/threads/${thread.body["thread_id"]}`;
    expect((await again(MAYA, { method: "QUERY", path })).status).toBe(200);
  });

  it("goes on with runs through a reload, and answers who waits for them", async () => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = await openAcp({
      script: () => released.then(() => ({ success: { message: "after" } })),
    });
    const { ask, daemon } = await openHosted(server);
    const waiting = ask(MAYA, execute({ wait_seconds: 20 }));
    await server.heard(/\/wait$/);
    expect(await daemon.daemon.reload()).toEqual([]);
    release();
    expect((await waiting).body["output"]).toEqual({ message: "after" });
  });

  it("begins no run for HTTP clients that nobody vouches for", async () => {
    const tables = { gateway: { enabled: true, port: 0 } };
    const settings = { required_scopes: [], impact: "informational" };
    const { daemon } = await openHosted(await openAcp(), { settings, tables });
    const url = `http://127.0.0.1:${daemon.daemon.gatewayPort}/mailcomposer`;
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ input: { message: "hi" } });
    const begun = await fetch(`${url}/execute`, { method: "POST", headers, body });
    expect(begun.status).toBe(401);
    expect((await fetch(`${url}/describe`)).status).toBe(200);
  });

  it("answers whoever waits for a run as soon as it begins to stop", async () => {
    const upstream = await openAcp({ script: () => "never" });
    const tables = { limits: { drain_timeout_ms: 60_000 } };
    const { ask, daemon } = await openHosted(upstream, { tables });
    const answer = ask(MAYA, execute({ wait_seconds: 25 }));
    await upstream.heard(/^GET \/runs\/[^/]+\/(?:wait|stream)/);
    await daemon.daemon.drain();
    expect(await answer).toMatchObject({ status: 202, body: { status: "pending" } });
  });
});

describe('an upstream that is down, with on_invalid = "skip"', () => {
  it.each<[string, (server: AcpServer) => Promise<void> | void]>([
    ["is down", (server) => server.close()],
    [
      "has drifted",
      (server) => {
        server.specs = { ...MAIL_SPECS, output: { type: "string" } };
      },
    ],
  ])("%s, and keeps nothing else from being reloaded", async (_, spoil) => {
    const server = await startAcpServer({ specs: MAIL_SPECS });
    onTestFinished(() => server.close());
    const { ask, daemon } = await openHosted(server);
    await spoil(server);
    writeFileSync(
      join(daemon.directory, "agents/nora.agent.json"),
      agentFile({ agent_id: "5".repeat(64), name: "nora" }),
    );
    expect(await daemon.daemon.reload()).toEqual([]);
    expect((await listed(ask)).map(({ name }) => name)).toContain("nora");
    expect(refusalOf(await ask(MAYA, execute()))[0]).toBe(422);
  });

  it("is found by itself once it is there, and by whoever asks first", async () => {
    const server = await openAcp({ name: "org.agntcy.other" });
    const { ask } = await openHosted(server);
    expect(refusalOf(await ask(MAYA, execute()))).toEqual([422, "agent_unavailable"]);
    server.fault = (request, response) => {
      if (request.url !== "/agents/search") return false;
      send(response, 200, [{ agent_id: server.agentId }]);
      return true;
    };
    // Nobody but the server itself asks.
    await server.heard(/descriptor$/);
  });

  it("stops the start where the operator says so", async () => {
    const server = await openAcp({ name: "org.agntcy.other" });
    const problems = await problemsOf(server, { tables: { server: { on_invalid: "fail" } } });
    expect(problems.join()).toContain("is not served until it is found");
  });
});

describe("docs/agntcy.md", () => {
  const text = readFileSync(new URL("../../../docs/agntcy.md", import.meta.url), "utf8");

  it("says what was exercised against what", () => {
    expect(text).toMatch(/exercised/);
    expect(text).toContain("no longer");
  });

  it("names every key of [[agntcy]]", () => {
    const keys = [
      "manifest",
      "base",
      "option",
      "deferred",
      "allow_http",
      "impact",
      "required_scopes",
    ];
    for (const key of [...keys, "timeout_seconds", "agent_answers", "approver_scope", "ca"])
      expect(text, key).toContain(`\`${key}\``);
  });
});
