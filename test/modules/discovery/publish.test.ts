import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadConfig } from "../../../src/app/config/load.ts";
import { type Deployment, loadDeployment } from "../../../src/app/deployment.ts";
import { FLOOR_METHODS } from "../../../src/catalog/catalog.ts";
import type { ManifestDocument } from "../../../src/modules/discovery/document.ts";
import { ReadyManifests } from "../../../src/modules/discovery/publish.ts";
import {
  agentFile,
  configFile,
  createDeployment,
  type DeploymentFiles,
  endpointFile,
  makeDeployment,
  type TestDeployment,
} from "../../support/deployment.ts";
import { writeFiles } from "../../support/directory.ts";
import { ALICE, discoveryFiles } from "../../support/discovery.ts";
import {
  createServer,
  openServer,
  outsideOf,
  SILENT_OBSERVER,
  type TestReply,
  type TestServer,
} from "../../support/dispatch.ts";

const MANIFEST_TYPE = "application/vnd.agtp.manifest+json";

function fetchManifest(server: TestServer, agent?: string): Promise<TestReply> {
  const headers = agent === undefined ? {} : { "Agent-ID": agent, Accept: MANIFEST_TYPE };
  return server.send({ method: "DISCOVER", path: "/", headers });
}

/** One deployment directory, started anew each time with some files changed. */
function makeRestarts(files: DeploymentFiles) {
  const deployment = createDeployment(files);
  onTestFinished(() => deployment.remove());
  return async (changes: DeploymentFiles = {}): Promise<TestReply> => {
    for (const [name, content] of Object.entries(changes)) {
      writeFileSync(join(deployment.directory, name), content);
    }
    const server = await createServer(deployment);
    const manifest = await fetchManifest(server);
    await server.close();
    return manifest;
  };
}

// AGTP-API §8.2
describe("the manifest", () => {
  it("has every field of the draft, and no other", async () => {
    const server = await openServer(
      discoveryFiles({
        server: { operator: "Acme", contact: "ops@acme.example", domain: "acme.example" },
        agents: { disclosure_notice: "Ask us." },
        policies: { methods: { custom: ["FROBNICATE"] } },
        hosted_protocols: [{ protocol: "mcp", method: "EXECUTE", path: "/mcp" }],
        apis: [{ name: "orders" }],
      }),
    );
    const { body, headers, status } = await fetchManifest(server);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe(MANIFEST_TYPE);
    expect(body).toEqual({
      agtp_version: "1.0",
      agtp_api_version: "1.0",
      document_version: expect.stringMatching(/./),
      catalog_version: "1.0.0",
      catalog_versions_supported: ["1.0.0"],
      server: {
        server_id: "test",
        domain: "acme.example",
        operator: "Acme",
        contact: "ops@acme.example",
        supported_features: expect.arrayContaining(["endpoint-registry"]),
        issued: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        updated: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      },
      embedded_methods: expect.any(Array),
      custom_methods: ["FROBNICATE"],
      endpoints: expect.any(Array),
      agent_disclosure: "public",
      hosted_agents: expect.any(Array),
      agent_disclosure_notice: "Ask us.",
      apis: [{ name: "orders" }],
      hosted_protocols: [{ protocol: "mcp", method: "EXECUTE", path: "/mcp" }],
      policies: {
        wildcards_accepted: false,
        anonymous_discovery: true,
        scope_required_for_invocation: true,
        synthesis_enabled: true,
        max_synthesis_depth: 10,
        methods: expect.objectContaining({ allow: "*", disallow: [], legacy: "NONE" }),
      },
      manifest_signature: null,
    });
  });

  // AGTP-API §8.6
  it("lists no protocol with a method that the server does not know, which is a warning", async () => {
    const listed = ["FROBNICATE", "EXECUTE", "NOSUCH"].map((method) => ({
      ...{ protocol: method.toLowerCase(), method, path: "/mcp" },
    }));
    const server = await openServer(
      discoveryFiles({
        policies: { methods: { custom: ["FROBNICATE"] } },
        hosted_protocols: listed,
      }),
      { isClean: false },
    );
    const { body } = await fetchManifest(server);
    expect(body["hosted_protocols"]).toEqual(listed.slice(0, 2));
    const file = "agtp-server.toml";
    expect(server.problems).toMatchObject([
      { file, key: "hosted_protocols[2].method", severity: "warning" },
    ]);
  });

  // AGTP-API §8.4
  it("names the eighteen floor methods, each with group and description", async () => {
    const { body } = await fetchManifest(await openServer(discoveryFiles()));
    const methods = body["embedded_methods"] as unknown as readonly Record<string, string>[];
    expect(methods.map(({ name }) => name).toSorted()).toEqual([...FLOOR_METHODS].toSorted());
    for (const method of methods) {
      expect(method).toEqual({
        name: expect.any(String),
        group: expect.stringMatching(/^(cognitive|mechanics|lifecycle)$/),
        description: expect.stringMatching(/\w/),
      });
    }
  });

  // AGTP-API §5.8
  it("lists the built-ins among the endpoints, and DISCOVER /methods lists the same pairs", async () => {
    const server = await openServer(discoveryFiles());
    const { body } = await fetchManifest(server);
    const methods = await server.send({ method: "DISCOVER", path: "/methods" });
    const pairs = (entries: unknown): readonly string[] =>
      (entries as readonly Record<string, string>[]).map(
        (entry) => `${entry["method"]} ${entry["path"]}`,
      );
    expect(pairs(body["endpoints"])).toEqual(pairs(methods.body));
    expect(pairs(body["endpoints"])).toContain("DISCOVER /methods");
  });

  it("knows what an operator left out", async () => {
    const server = await openServer(discoveryFiles());
    const { body } = await fetchManifest(server);
    expect(body["server"]).toMatchObject({ domain: null, operator: null, contact: null });
    expect(body["agent_disclosure_notice"]).toBeNull();
  });
});

// AGTP-API §8.9
describe("the projection of endpoints", () => {
  it("shows the kind of every binding, and nothing else of it anywhere", async () => {
    const server = await openServer(discoveryFiles());
    const { body, text } = await fetchManifest(server);
    const endpoints = body["endpoints"] as unknown as readonly Record<string, object>[];
    expect(endpoints.length).toBeGreaterThan(3);
    for (const endpoint of endpoints) {
      expect(Object.keys(endpoint["handler"] ?? {})).toEqual(["type"]);
    }
    const secrets = [
      "handlers.echo",
      '"recipe":',
      "upstream.invalid",
      "secret-of",
      ".toml",
      "timeout_seconds",
    ];
    for (const secret of secrets) expect(text).not.toContain(secret);
  });

  it("shows everything that an agent reasons about", async () => {
    const server = await openServer(discoveryFiles());
    const { body } = await fetchManifest(server);
    expect(body["endpoints"]).toContainEqual({
      method: "BOOK",
      path: "/room",
      description: "An endpoint of a test.",
      semantic: {
        intent: expect.any(String),
        actor: "agent",
        outcome: expect.any(String),
        capability: "transaction",
        confidence: 0.5,
        impact: "reversible",
        is_idempotent: false,
      },
      input_schema: { type: "object", properties: {}, required: [], additionalProperties: false },
      output_schema: { type: "object" },
      errors: [],
      handler: { type: "registered_function" },
      required_scopes: ["booking:room"],
      deprecated: { deprecated_in: "2.0.0", successor: { path: "/rooms" } },
    });
  });

  it("has every required field on every endpoint, the built-ins included", async () => {
    const server = await openServer(discoveryFiles());
    const { body } = await fetchManifest(server);
    const required = [
      "method",
      "path",
      "description",
      "semantic",
      "input_schema",
      "output_schema",
      "errors",
      "handler",
    ];
    for (const endpoint of body["endpoints"] as unknown as readonly object[]) {
      expect(Object.keys(endpoint)).toEqual(expect.arrayContaining(required));
      expect(endpoint).toMatchObject({
        input_schema: { type: "object", additionalProperties: false },
      });
    }
  });
});

// AGTP-API §8.5
describe("the disclosure of agents", () => {
  it.each([
    ["public", undefined, 2],
    ["public", ALICE, 2],
    ["authenticated", undefined, 0],
    ["authenticated", ALICE, 2],
    ["private", undefined, 0],
    ["private", ALICE, 0],
  ])("%s shows %s %i agents", async (disclosure, agent, count) => {
    const server = await openServer(discoveryFiles({ agents: { disclosure } }));
    const { body } = await fetchManifest(server, agent);
    expect(body["agent_disclosure"]).toBe(disclosure);
    expect(body["hosted_agents"]).toHaveLength(count);
  });

  it("gives two audiences two entity tags", async () => {
    const server = await openServer(discoveryFiles({ agents: { disclosure: "authenticated" } }));
    const [anonymous, known] = [await fetchManifest(server), await fetchManifest(server, ALICE)];
    expect(anonymous.headers.get("etag")).not.toBe(known.headers.get("etag"));
    expect(known.headers.get("cache-control")).toMatch(/private/);
  });

  it("keeps what an agent holds to itself", async () => {
    const { text } = await fetchManifest(await openServer(discoveryFiles()));
    expect(text).not.toContain("scopes_accepted");
  });
});

// AGTP-API §8.2, §8.3, §8.11
describe("document_version, ETag, issued and updated", () => {
  const versionOf = ({ body }: TestReply): unknown => body["document_version"];
  const serverOf = ({ body }: TestReply): unknown => body["server"];

  it("stay as they are when nothing changed", async () => {
    const start = makeRestarts(discoveryFiles());
    const first = await start();
    const second = await start();
    expect(second.text).toBe(first.text);
    expect(second.headers.get("etag")).toBe(first.headers.get("etag"));
  });

  it.each<[string, DeploymentFiles]>([
    ["an endpoint", { "endpoints/hall.toml": endpointFile({ method: "BOOK", path: "/hall" }) }],
    ["the configuration", { "agtp-server.toml": configFile({ server: { operator: "Other" } }) }],
    ["an agent", { "agents/bob.agent.json": agentFile({ agent_id: "b".repeat(64), name: "rob" }) }],
    [
      "the policy",
      { "agtp-server.toml": configFile({ policies: { methods: { disallow: ["SELL"] } } }) },
    ],
  ])("change with %s; issued stays", async (_, changes) => {
    const start = makeRestarts(discoveryFiles());
    const before = await start();
    const after = await start(changes);
    expect(versionOf(after)).not.toBe(versionOf(before));
    expect(after.headers.get("etag")).not.toBe(before.headers.get("etag"));
    const dates = serverOf(before) as { issued: string; updated: string };
    expect(serverOf(after)).toMatchObject({ issued: dates.issued });
    expect((serverOf(after) as typeof dates).updated >= dates.updated).toBe(true);
  });

  it("come back when the content does", async () => {
    const files = discoveryFiles();
    const start = makeRestarts(files);
    const before = await start();
    await start({ "agtp-server.toml": configFile({ server: { operator: "Other" } }) });
    const restored = await start({ "agtp-server.toml": configFile() });
    expect(versionOf(restored)).toBe(versionOf(before));
  });

  it("do not change with what the manifest does not show", async () => {
    const start = makeRestarts(discoveryFiles());
    const before = await start();
    const limits = {
      limits: { body_bytes: 4096 },
      policies: { rcns: { rate_limit_per_minute: 3 } },
    };
    const after = await start({ "agtp-server.toml": configFile(limits) });
    expect(after.text).toBe(before.text);
  });

  it("follow the operator's document_version, while the entity tag follows the content", async () => {
    const start = makeRestarts(discoveryFiles({ server: { document_version: "v7" } }));
    const before = await start();
    const changed = { server: { document_version: "v7", operator: "Other" } };
    const after = await start({ "agtp-server.toml": configFile(changed) });
    expect(versionOf(before)).toBe("v7");
    expect(versionOf(after)).toBe("v7");
    expect(after.headers.get("etag")).not.toBe(before.headers.get("etag"));
  });

  it("survive a state file that cannot be read", async () => {
    const deployment = createDeployment(discoveryFiles());
    onTestFinished(() => deployment.remove());
    const state = join(deployment.directory, ".agtp", "manifest.json");
    await (await createServer(deployment)).close();
    for (const text of ["", "null", "[]", '{"issued":1}']) {
      writeFileSync(state, text);
      const server = await createServer(deployment);
      expect((await fetchManifest(server)).status).toBe(200);
      await server.close();
      expect(JSON.parse(readFileSync(state, "utf8"))).toHaveProperty("content_hash");
    }
  });
});

describe("what is kept of the manifest", () => {
  const stateOf = (directory: string): string => join(directory, ".agtp", "manifest.json");

  async function load({ configPath }: TestDeployment): Promise<Deployment> {
    const { config } = loadConfig(configPath, {});
    if (config === undefined) throw new Error("the configuration has problems");
    const outside = await outsideOf(SILENT_OBSERVER);
    const { deployment } = await loadDeployment(config, { ...outside, env: {} });
    if (deployment === undefined) throw new Error("the deployment has problems");
    onTestFinished(() => deployment.close());
    return deployment;
  }

  it("is written once the deployment is served, not when it is loaded", async () => {
    const files = makeDeployment(discoveryFiles());
    const deployment = await load(files);
    expect(existsSync(stateOf(files.directory))).toBe(false);
    deployment.commit();
    expect(existsSync(stateOf(files.directory))).toBe(false);
    expect(await deployment.warmUp()).toEqual([]);
    expect(existsSync(stateOf(files.directory))).toBe(true);
  });

  it("does not change with agents that nobody is shown", async () => {
    const start = makeRestarts(discoveryFiles({ agents: { disclosure: "private" } }));
    const before = await start();
    const renamed = agentFile({ agent_id: "b".repeat(64), name: "rob" });
    const after = await start({ "agents/bob.agent.json": renamed });
    expect(after.text).toBe(before.text);
  });

  const warning = { file: ".agtp/manifest.json", severity: "warning" };

  it.each([".agtp", ".agtp/manifest.json/file"])(
    "is a warning, once and before it is served, where %s cannot be written",
    async (path) => {
      const deployment = makeDeployment(discoveryFiles());
      rmSync(join(deployment.directory, path), { recursive: true, force: true });
      writeFiles(deployment.directory, { [path]: "in the way" });
      const server = await createServer(deployment, { isClean: false });
      expect(server.problems).toMatchObject([warning]);
      expect(await server.deployment.warmUp()).toEqual([]);
      expect((await fetchManifest(server)).status).toBe(200);
      await server.close();
    },
  );

  it("is a warning also where that is found when it is served", async () => {
    const files = makeDeployment(discoveryFiles());
    const deployment = await load(files);
    mkdirSync(stateOf(files.directory), { recursive: true });
    deployment.commit();
    expect(await deployment.warmUp()).toMatchObject([warning]);
  });
});

// AGTP-API §8.5
describe("the hosted agents of the manifest", () => {
  it("stand as they stand now, and the document says that it changed", async () => {
    const files = discoveryFiles({ policies: { identity: { lifecycle_auth: "open" } } });
    const server = await openServer(files);
    const before = await server.send({ method: "DISCOVER" });
    const body = { agent_id: ALICE, reason: "maintenance" };
    const headers = { "Agent-ID": ALICE };
    expect((await server.send({ method: "DEACTIVATE", headers, body })).status).toBe(200);
    const after = await server.send({ method: "DISCOVER" });
    expect(after.body["hosted_agents"]?.[0]).toMatchObject({
      agent_id: ALICE,
      status: "suspended",
    });
    expect(after.headers.get("etag")).not.toBe(before.headers.get("etag"));
    expect(after.body["document_version"]).not.toBe(before.body["document_version"]);
    expect((await server.send({ method: "DISCOVER" })).text).toBe(after.text);
  });
});

/** Makes manifests of a length, and counts them. */
function maker(octets: number) {
  const counted = { made: 0 };
  const make = async (): Promise<ManifestDocument> => {
    counted.made += 1;
    return { bytes: new Uint8Array(octets), etag: '"e"', documentVersion: "v-1" };
  };
  return { counted, make };
}

describe("manifests that are kept ready", () => {
  it("are made once, also for those who ask meanwhile", async () => {
    const ready = new ReadyManifests(100);
    const { counted, make } = maker(60);
    const [one, other] = await Promise.all([ready.get("a", make), ready.get("a", make)]);
    expect(other).toBe(one);
    expect(await ready.get("a", make)).toBe(one);
    expect(counted.made).toBe(1);
  });

  it("have no more octets together than they may, the latest stay", async () => {
    const ready = new ReadyManifests(100);
    const { counted, make } = maker(60);
    for (const name of ["a", "b", "b", "a"]) await ready.get(name, make);
    expect(counted.made).toBe(3);
  });

  it("do not have one that is longer than all may be", async () => {
    const ready = new ReadyManifests(100);
    const short = maker(60);
    const long = maker(101);
    await ready.get("short", short.make);
    await ready.get("long", long.make);
    await ready.get("long", long.make);
    await ready.get("short", short.make);
    expect([short.counted.made, long.counted.made]).toEqual([1, 2]);
  });

  it("are tried again where they could not be made", async () => {
    const ready = new ReadyManifests(100);
    const { counted, make } = maker(60);
    const fail = () => Promise.reject(new Error("no key"));
    await expect(ready.get("a", fail)).rejects.toThrow("no key");
    await ready.get("a", make);
    expect(counted.made).toBe(1);
  });
});
