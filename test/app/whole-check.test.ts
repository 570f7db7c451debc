/** One check of a deployment names everything that is wrong with it, wherever that is, once. */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkDeployment } from "../../src/app/daemon.ts";
import { createLog } from "../../src/base/log.ts";
import { isError, type Problem } from "../../src/base/problem.ts";
import { initCommand } from "../../src/programs/init/command.ts";
import {
  configFile,
  type DeploymentFiles,
  endpointFile,
  makeDeployment,
} from "../support/deployment.ts";
import { makeDirectory } from "../support/directory.ts";
import { runIn } from "../support/terminal.ts";
import {
  exampleFile,
  mcpTool,
  processOf,
  UPSTREAM_ERRORS,
  wholeFiles,
  wholeTables,
} from "../support/whole-deployment.ts";

// biome-ignore lint/suspicious/noExplicitAny: tables are made wrong in ways that no type has.
type Tables = any;

/** One mistake in the configuration or beside it, and what is told of it. */
interface Mistake {
  alter?(tables: Tables): void;
  readonly files?: DeploymentFiles;
  /** `key` of the configuration, or `file: key`. */
  readonly told: readonly string[];
}

const configured = (key: string, alter: (tables: Tables) => void): Mistake => ({
  ...{ alter, told: [key] },
});

const written = (file: string, key: string, text: string): Mistake => ({
  ...{ files: { [file]: text }, told: [`${file}: ${key}`] },
});

const endpoint = (
  name: string,
  key: string,
  options: Partial<Parameters<typeof endpointFile>[0]>,
): Mistake => {
  const file = endpointFile({ method: "QUERY", path: `/z-${name}`, ...options });
  return written(`endpoints/z-${name}.toml`, `endpoint.${key}`, file);
};

const functionAt = (reference: string) => ({
  handler: { type: "registered_function", function: reference },
});

const WORKFLOW = exampleFile("openwop/workflows/front-desk.json");
const UNSET = `\${NOBODY_SET_THIS}`;

/** Each refuses the configuration, or stops the start before modules are looked at. */
const REFUSING: Readonly<Record<string, Mistake>> = {
  "an unknown key": configured("server.prot", (t) => {
    t.server.prot = 1;
  }),
  "a value out of its bounds": configured("limits.body_bytes", (t) => {
    t.limits.body_bytes = -1;
  }),
  "a server without a name": configured("server.server_id", (t) => {
    t.server.server_id = 7;
  }),
  "a variable that is not set": configured("webhooks.secret", (t) => {
    t.webhooks.secret = UNSET;
  }),
  "a signing key that is gone": configured("signing.key", (t) => {
    t.signing.key = "keys/gone.pem";
  }),
  "a certificate that is gone": configured("tls.cert", (t) => {
    t.tls.cert = "tls/gone.pem";
  }),
  "a store without a place": configured("store.url", (t) => {
    t.store = { driver: "postgres" };
  }),
  "a console at no origin": configured("console.base_url", (t) => {
    t.console.base_url = "nowhere";
  }),
  "an issuer that is no key": configured("policies.identity.trusted_issuers[1]", (t) => {
    t.policies.identity.trusted_issuers.push("none");
  }),
  "keys of tokens that are none": {
    files: { "keys/jwks.json": "{}" },
    told: ["policies.oauth.jwks_file"],
  },
  "tokens without keys": configured("policies.oauth", (t) => {
    t.policies.oauth = { issuer: "https://id.example" };
  }),
  "tokens without keys, and a part beside them that is malformed": {
    alter: (t) => {
      t.policies.oauth = { issuer: "https://id.example" };
      t.policies.max_synthesis_depth = 0;
    },
    told: ["policies.max_synthesis_depth", "policies.oauth"],
  },
  "a policy that contradicts itself": {
    alter: (t) => {
      t.policies.methods.aliases = { GET: "POST", POST: "GET" };
    },
    told: ["policies.methods.aliases.GET", "policies.methods.aliases.POST"],
  },
  "a catalog that is gone": configured("catalog.file", (t) => {
    t.catalog = { file: "gone.json" };
  }),
  "a catalog that is none": written("catalog/methods.json", "", "[]"),
  "a certificate that is gone, and an agent that is none": {
    alter: (t) => {
      t.gateway.cert = "tls/gone.pem";
      t.gateway.agent = "bobb";
    },
    told: ["gateway.agent", "gateway.cert"],
  },
  "a part that lacks a key, and a file that is gone beside it": {
    alter: (t) => {
      t.console.oidc = { issuer: "https://id.example", role_claim: "r", operators: ["o"] };
      t.console.key = "tls/gone.pem";
    },
    told: ["console.oidc.client_id", "console.key"],
  },
};

/** Mistakes that the configuration's own check does not see. */
const OTHERS: readonly Mistake[] = [
  configured("policies.approvals[1].agent", (t) => {
    t.policies.approvals.push({ agent: "bobb", approval: "operator" });
  }),
  configured("policies.builtins.methods", (t) => {
    t.policies.builtins = { methods: "handlers.gone" };
  }),
  configured("processes[1].command", (t) => {
    t.processes.push(processOf("other", "exit"));
  }),
  configured("tracing.ca", (t) => {
    t.tracing.ca = "tls/none.pem";
  }),
  configured("webhooks.ca", (t) => {
    t.webhooks.ca = "tls/none.pem";
  }),
  configured("warning: groups.night[2]", (t) => {
    t.groups.night.push("bobb");
  }),
  configured("peers[1].public_key", (t) => {
    t.peers.push({ name: "other", server_id: "other.example", public_key: "A".repeat(43) });
  }),
  configured("openwop.api_keys[0].scopes[0]", (t) => {
    t.openwop.api_keys[0].scopes = ["runs:red"];
  }),
  configured("openwop.trusted_keys.none", (t) => {
    t.openwop.trusted_keys.none = "tls/none.pem";
  }),
  configured('warning: openwop.agents."vendor.example.clark"', (t) => {
    t.openwop.agents["vendor.example.clark"] = { scopes: [] };
  }),
  configured("agntcy[1].option", (t) => {
    t.agntcy.push({ ...t.agntcy[0], base: "/other", option: "svc" });
  }),
  configured("agentcli.expose[1]", (t) => {
    t.agentcli.expose.push("weekly");
  }),
  configured("gone.json: ", (t) => {
    t.agentcli.manifests.push("gone.json");
  }),
  {
    alter: (t) => t.agntcy.push({ manifest: "agents/agntcy/z.json", base: "/z" }),
    ...written("agents/agntcy/z.json", "", "[]"),
  },
  {
    alter: (t) => t.agentcli.manifests.push("agents/agentcli/z.json"),
    ...written("agents/agentcli/z.json", "", "[]"),
  },
  written("agents/z.agent.json", "", "["),
  written("agents/openwop/z/pack.json", "", "[]"),
  written("agents/openwop/workflows/z.json", "nodes[0].typeId", WORKFLOW.replace("core.", "cor.")),
  written("recipes/z.toml", "recipe[0].steps", '[[recipe]]\nname = "r"\nversion = "1"\n'),
  written("endpoints/z.toml", "", "["),
  endpoint("unknown", "semantics", { semantics: 1 } as object),
  endpoint("function", "handler.function", functionAt("handlers.gone")),
  endpoint("process", "handler.function", functionAt("room:echo")),
  endpoint("lacking", "handler.function", functionAt("rooms:gone")),
  endpoint("tool", "handler.server", { errors: UPSTREAM_ERRORS, handler: mcpTool("town") }),
  endpoint("recipe", "handler.recipe", {
    errors: ["composition_failed"],
    handler: { type: "composition", recipe: "gone" },
  }),
  endpoint("variable", "handler.headers.Authorization", {
    errors: UPSTREAM_ERRORS,
    handler: {
      ...{ type: "external_service", url: "https://orders.example/", method: "GET" },
      headers: { Authorization: UNSET },
    },
  }),
];

/** Each may be what something else relies on: what would follow from it is not told. */
const DOUBTFUL: Readonly<Record<string, Mistake>> = {
  "where packs are": configured("openwop.pack_dir", (t) => {
    t.openwop.pack_dir = "packs";
    t.gateway.agent = "vendor.example.packed";
  }),
  "where agents are": configured("agents.dri", (t) => {
    t.agents = { default: "carol", dri: "people" };
    t.gateway.agent = "carol";
    t.groups.night.push("carol");
    t.policies.approvals.push({ agent: "carol", approval: "operator" });
  }),
  "where endpoints are": {
    ...configured("endpoints.dri", (t) => {
      t.endpoints = { dri: "api" };
    }),
    files: {
      "agents/openwop/clerk/pack.json": exampleFile(
        "openwop/agents/openwop/clerk/pack.json",
      ).replace('"persona"', '"toolAllowlist": ["agtp:BOOK /room"], "persona"'),
    },
  },
  "where recipes are": configured("recipes.dir", (t) => {
    t.recipes = { dir: 5 };
  }),
  "which variables are set": {
    files: {
      ".env/none": "",
      "endpoints/variable.toml": endpointFile({
        ...{ method: "QUERY", path: "/z-variable", errors: UPSTREAM_ERRORS },
        handler: { type: "external_service", url: `https://${UNSET}.example/`, method: "GET" },
      }),
    },
    alter: (t) => {
      t.openwop.runtime = { kind: "openai-compatible", base_url: UNSET };
    },
    told: [".env: "],
  },
  "which methods there are": configured("catalog.fil", (t) => {
    t.catalog = { fil: "catalog.json" };
    t.policies.approvals.push({ method: "OTHERS", approval: "operator" });
  }),
  "which methods the server adds": configured("policies.methods.custm", (t) => {
    t.policies.methods = { custm: ["FROB"] };
  }),
  "where people are": configured("webhooks.recipients", (t) => {
    t.webhooks.recipients = 7;
  }),
  "a process": configured("processes[0].cont", (t) => {
    t.processes[0].cont = 2;
  }),
  "an MCP server": configured("mcp.servers[0]", (t) => {
    t.mcp.servers[0].url = "https://city.example";
  }),
  "where functions are": configured("handlers.root", (t) => {
    t.handlers.root = "gone";
  }),
  "what an agent's server needs": configured("agntcy[0].alow_http", (t) => {
    t.agntcy[0].alow_http = true;
    t.agntcy[0].deferred = false;
  }),
  "what calls a rule is about": configured("policies.approvals[0].metod", (t) => {
    t.policies.approvals.unshift({ metod: "AUDIT", approval: "operator" });
  }),
  "an agent of a variable": configured("agntcy[1].manifest", (t) => {
    t.agntcy.push({ manifest: UNSET, base: "/other" });
  }),
};

const SILENT = createLog("silent", { write: () => undefined, flush: () => Promise.resolve() });

async function check(mistakes: readonly Mistake[]): Promise<readonly Problem[]> {
  const tables = wholeTables();
  for (const mistake of mistakes) mistake.alter?.(tables);
  const wrong = mistakes.map(({ files }) => files);
  const files: DeploymentFiles = Object.assign({}, wholeFiles(tables), ...wrong);
  const { configPath, directory } = makeDeployment(files);
  const env = { PATH: process.env["PATH"] };
  const problems = await checkDeployment({ configPath, env, log: SILENT });
  expect(existsSync(join(directory, ".agtp/state.db"))).toBe(false);
  return problems;
}

const CONFIG = "agtp-server.toml";

const placeOf = (problem: Problem): string => {
  const place = problem.file === CONFIG ? problem.key : `${problem.file}: ${problem.key}`;
  return isError(problem) ? place : `warning: ${place}`;
};

const toldOf = (mistakes: readonly Mistake[]): readonly string[] =>
  mistakes.flatMap(({ told }) => told).toSorted();

// AGTP-API §13.2
describe("one check", () => {
  it("finds nothing in a deployment with a file of every kind", async () => {
    expect(await check([])).toEqual([]);
  });

  it("names everything that is wrong beside the configuration", async () => {
    const found = await check(OTHERS);
    expect(found.map(placeOf).toSorted()).toEqual(toldOf(OTHERS));
  });

  it.each(Object.keys(REFUSING))("does so beside %s", async (name) => {
    const mistakes = [...OTHERS, REFUSING[name] ?? { told: [] }];
    const found = await check(mistakes);
    expect(found.map(placeOf).toSorted()).toEqual(toldOf(mistakes));
  });

  it.each(Object.keys(DOUBTFUL))("tells nothing that follows from not knowing %s", async (name) => {
    const mistakes = [DOUBTFUL[name] ?? { told: [] }];
    const found = await check(mistakes);
    expect(found.map(placeOf)).toEqual(toldOf(mistakes));
  });

  it("tells that the store is no database, which it does not open", async () => {
    const files = {
      "agtp-server.toml": configFile({ store: { driver: "sqlite", path: "state.db" } }),
      "state.db": "octets of something else ".repeat(20),
    };
    const { configPath, directory } = makeDeployment(files);
    const [problem] = (await checkDeployment({ configPath, env: {}, log: SILENT })).filter(isError);
    const message = `"${join(directory, "state.db")}" is not a database`;
    expect(problem).toEqual({ file: CONFIG, key: "store.path", message });
    expect(readdirSync(directory)).not.toContain("state.db-wal");
  });

  it("tells that the store cannot be made where a file is in the way, as a start does", async () => {
    const files = {
      "agtp-server.toml": configFile({
        store: { driver: "sqlite", path: "notes.txt/kept/state.db" },
      }),
      "notes.txt": "",
    };
    const { configPath, directory } = makeDeployment(files);
    const problems = (await checkDeployment({ configPath, env: {}, log: SILENT })).filter(isError);
    const parent = join(directory, "notes.txt/kept");
    const message = `"${join(parent, "state.db")}" cannot be made, its directory "${parent}" cannot be: a file is in the way`;
    expect(problems).toEqual([{ file: CONFIG, key: "store.path", message }]);
  });

  it("tells nothing of whom is trusted without the key that makes the server an issuer", async () => {
    const directory = makeDirectory();
    await runIn(directory, initCommand(undefined), ["shop", "--yes"]);
    const configPath = join(directory, "shop/agtp-server.toml");
    const told = async (): Promise<readonly string[]> => {
      const problems = await checkDeployment({
        configPath,
        env: {},
        log: SILENT,
      });
      return problems.map(placeOf);
    };
    expect(await told()).toEqual([]);
    rmSync(join(directory, "shop/.agtp/keys/signing.pem"));
    expect(await told()).toEqual(["signing.key"]);
  });
});
