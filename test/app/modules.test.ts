/** Each line of the list of modules can be left out: the daemon serves the rest, and says what is gone. */
import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MODULES } from "../../src/app/modules.ts";
import type { AnyModule } from "../../src/app/provision.ts";
import { manifestOf, shellTask } from "../support/agentcli.ts";
import { agentManifest } from "../support/agntcy.ts";
import { createDaemon, openDaemon, type TestDaemon } from "../support/daemon.ts";
import { createDeployment, type DeploymentFiles } from "../support/deployment.ts";
import {
  encodeRequest,
  openServer,
  type TestReply,
  type TestRequest,
} from "../support/dispatch.ts";
import { DESK, gatewayFiles } from "../support/gateway.ts";
import { SANE } from "../support/mcp-upstream.ts";
import { packFiles } from "../support/openwop.ts";

/** Something of every module. */
const FILES: DeploymentFiles = gatewayFiles(
  {
    mcp: {
      ...{ enabled: true, anonymous: true },
      servers: [{ name: "tools", command: process.execPath, args: [SANE] }],
    },
    console: { enabled: true, port: 0 },
    tracing: { enabled: true, endpoint: "http://127.0.0.1:9" },
    // The collector is away: a daemon that ends tries no longer than this.
    limits: { drain_timeout_ms: 100, work_ms_per_second: 0 },
    agentcli: { manifests: ["agents/agentcli/m.json"], expose: ["w1"] },
    agntcy: [{ manifest: "agents/agntcy/mail.json", base: "/mailcomposer" }] as unknown as object,
    policies: { synthesis_enabled: true, rcns: { enabled: true } },
  },
  {
    ...packFiles({}),
    "agents/agentcli/m.json": JSON.stringify(manifestOf([shellTask("echo", ["hi"])])),
    "agents/agntcy/mail.json": JSON.stringify(agentManifest({})),
  },
);

/** What the manifest of a server says that it has. */
interface Shown {
  readonly methods: readonly string[];
  readonly features: readonly string[];
  readonly apis: readonly string[];
  readonly protocols: readonly string[];
  readonly endpoints: readonly string[];
}

const NOTHING: Shown = { methods: [], features: [], apis: [], protocols: [], endpoints: [] };

/** What goes with each module; of endpoints, some. */
const GONE: Readonly<Record<string, Partial<Shown>>> = {
  gateway: { features: ["http-gateway"], apis: ["http-gateway", "mcp", "openwop"] },
  openwop: {
    ...{ apis: ["openwop"], protocols: ["openwop"] },
    endpoints: ["EXECUTE /agents/vendor.test.pack.agent", "QUERY /agents", "QUERY /runs/{run_id}"],
  },
  agentcli: { endpoints: ["EXECUTE /workflows/wf:w1/task:t1"] },
  agntcy: { endpoints: ["DESCRIBE /mailcomposer"] },
  mcp: { apis: ["mcp"] },
  "mcp-servers": { features: ["mcp-servers"] },
  tracing: { features: ["tracing"] },
  tasks: { methods: ["CONFIRM", "ESCALATE", "SUSPEND"] },
  delivery: { methods: ["NOTIFY"] },
  delegation: { methods: ["DELEGATE", "EXECUTE"] },
  negotiation: { methods: ["PLAN", "PROPOSE"], features: ["rcns", "synthesis"] },
  search: { methods: ["QUERY", "SUMMARIZE"] },
  floor: {
    features: ["lifecycle"],
    methods: ["ACTIVATE", "DEACTIVATE", "DEPRECATE", "INSPECT", "REINSTATE", "REVOKE"],
  },
  // Nobody outside is told of it: its listener is gone.
  console: {},
  discovery: { methods: ["DESCRIBE", "DISCOVER"] },
};

type Ask = (request: TestRequest) => Promise<TestReply>;

/** Asks one thing after the other, as the agent that holds most, over one connection. */
async function asking(daemon: TestDaemon): Promise<Ask> {
  const client = await daemon.connect();
  let asked = 0;
  return async (request) => {
    client.write(encodeRequest({ ...request, headers: { "Agent-ID": DESK, ...request.headers } }));
    asked += 1;
    const reply = (await client.replies(asked))[asked - 1];
    if (reply === undefined) throw new Error("the connection was closed");
    return reply;
  };
}

/** Tells whether the ready line of a daemon names a port of the console. */
function hasConsole({ log }: TestDaemon): boolean {
  const ready = log.find(({ event }) => event === "listening");
  return ready?.["console_port"] !== undefined;
}

async function readManifest(ask: Ask): Promise<Shown> {
  const headers = { Accept: "application/vnd.agtp.manifest+json" };
  const { text } = await ask({ method: "DISCOVER", headers });
  const manifest = JSON.parse(text);
  const names = (list: readonly Record<string, string>[], member: string): readonly string[] =>
    list.map((one) => one[member] ?? "").toSorted();
  return {
    methods: names(manifest.embedded_methods, "name"),
    features: manifest.server.supported_features.toSorted(),
    apis: names(manifest.apis, "name"),
    protocols: names(manifest.hosted_protocols, "protocol"),
    endpoints: manifest.endpoints.map(
      ({ method, path }: Record<string, string>) => `${method} ${path}`,
    ),
  };
}

describe("the list of modules", () => {
  it("has a line for each folder of src/modules", () => {
    const folders = readdirSync(new URL("../../src/modules", import.meta.url));
    expect(MODULES.map(({ name }) => name).toSorted()).toEqual(folders.toSorted());
    expect(Object.keys(GONE).toSorted()).toEqual(folders.toSorted());
  });
});

describe("a daemon without", () => {
  // With every module: what it is asked for is refused, so that it stays as it is.
  const deployment = createDeployment(FILES);
  let all: TestDaemon;
  let before: Shown;
  beforeAll(async () => {
    all = await createDaemon(deployment);
    before = await readManifest(await asking(all));
  });
  afterAll(async () => {
    await all.close();
    deployment.remove();
  });

  it.each(Object.keys(GONE))("%s serves the rest, and says what is gone", async (name) => {
    const rest = MODULES.filter((module) => module.name !== name);
    const daemon = await openDaemon(FILES, {}, rest);
    // One that stays open is idle for as long as a busy machine takes for modules without methods.
    const whole = await asking(all);
    const ask = await asking(daemon);
    expect([all, daemon].map(hasConsole)).toEqual([true, name !== "console"]);
    const expected = { ...NOTHING, ...GONE[name] };
    const first = await ask({ method: "FETCH", path: "/orders/7" });
    expect(first.status).toBe(200);
    const supported = first.headers.get("supported-methods")?.split(", ");
    for (const method of expected.methods) {
      // An operator's endpoint may have the same method.
      const others = before.endpoints.some((pair) => pair.startsWith(`${method} `));
      if (!others) expect(supported).not.toContain(method);
      expect((await whole({ method, body: {} })).status, method).not.toBe(405);
      const refused = await ask({ method, body: {} });
      expect([refused.status, refused.body["error"]?.["code"]]).toEqual([
        405,
        "method-not-allowed",
      ]);
    }
    for (const pair of expected.endpoints) {
      const [method = "", path = ""] = pair.split(" ");
      expect(before.endpoints).toContain(pair);
      const answer = await ask({ method, path: path.replace("{run_id}", "r"), body: {} });
      expect([404, 405], pair).toContain(answer.status);
    }
    if (name === "discovery") return;
    const after = await readManifest(ask);
    const without = (all: readonly string[], gone: readonly string[]): readonly string[] =>
      all.filter((one) => !gone.includes(one));
    for (const kind of ["methods", "features", "apis", "protocols"] as const) {
      for (const one of expected[kind]) expect(before[kind]).toContain(one);
      expect(after[kind]).toEqual(without(before[kind], expected[kind]));
    }
    expect(after.endpoints).toEqual(
      before.endpoints.filter((pair) => after.endpoints.includes(pair)),
    );
    for (const pair of expected.endpoints) expect(after.endpoints).not.toContain(pair);
  });
});

describe("the configuration of a module", () => {
  it("is the sections that it takes, and where they were written", async () => {
    let given: object = {};
    const module: AnyModule = {
      name: "looking",
      takes: { server: true, limits: true },
      provision: ({ config }) => {
        given = config;
        return Promise.resolve({});
      },
    };
    await openServer({}, { modules: [module], isClean: false });
    expect(Object.keys(given).sort()).toEqual(["directory", "file", "limits", "server"]);
  });
});
