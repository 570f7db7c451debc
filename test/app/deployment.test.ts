import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/app/config/load.ts";
import { checkDeployment } from "../../src/app/daemon.ts";
import { loadDeployment } from "../../src/app/deployment.ts";
import { createLog } from "../../src/base/log.ts";
import { formatProblem, isError, type Problem } from "../../src/base/problem.ts";
import {
  configFile,
  type DeploymentFiles,
  endpointFile,
  makeDeployment,
} from "../support/deployment.ts";
import { ALICE, discoveryFiles } from "../support/discovery.ts";
import { openServer, outsideOf, SILENT_OBSERVER } from "../support/dispatch.ts";

/** What loading a deployment comes to; one that is not served has no methods. */
async function load(files: DeploymentFiles): Promise<{
  readonly isServed: boolean;
  readonly problems: readonly Problem[];
}> {
  const { configPath } = makeDeployment(files);
  const { config, problems } = loadConfig(configPath, {});
  if (config === undefined) return { isServed: false, problems };
  const loaded = await loadDeployment(config, {
    ...(await outsideOf(SILENT_OBSERVER)),
    env: {},
  });
  await loaded.deployment?.close();
  const isServed = loaded.deployment !== undefined;
  return { isServed, problems: [...problems, ...loaded.problems] };
}

function withPolicies(policies: object): DeploymentFiles {
  return discoveryFiles({ policies });
}

function withEndpoint(options: Parameters<typeof endpointFile>[0]): DeploymentFiles {
  return { ...discoveryFiles(), "endpoints/z-other.toml": endpointFile(options) };
}

function functionAt(reference: string): object {
  return { type: "registered_function", function: reference };
}

// AGTP-API §13.2
describe("an endpoint that cannot be served", () => {
  const broken = withEndpoint({
    method: "CANCEL",
    path: "/room",
    handler: functionAt("handlers.missing"),
  });

  it("is a problem that names its file, and the rest is served", async () => {
    const server = await openServer(broken, { isClean: false });
    expect(server.problems).toMatchObject([
      { file: "endpoints/z-other.toml", key: "endpoint.handler.function" },
    ]);
    const headers = { "Agent-ID": ALICE };
    const missing = await server.send({ method: "CANCEL", path: "/room", headers });
    expect(missing.body).toMatchObject({ allowed_methods_for_path: ["BOOK"] });
    expect((await server.send({ method: "BOOK", path: "/room", headers })).status).toBe(200);
  });

  it("stops the start where the operator says so", async () => {
    const toml = configFile({ server: { on_invalid: "fail" } });
    const { isServed, problems } = await load({ ...broken, "agtp-server.toml": toml });
    expect(isServed).toBe(false);
    expect(problems.some(isError)).toBe(true);
  });

  it("takes along the compositions that need it, and nothing else", async () => {
    const files = {
      ...discoveryFiles(),
      "endpoints/room.toml": endpointFile({
        method: "BOOK",
        path: "/room",
        required_scopes: ["booking:room"],
        handler: functionAt("handlers.missing"),
      }),
    };
    const server = await openServer(files, { isClean: false });
    const named = server.problems.map(({ file }) => file);
    expect(named.toSorted()).toEqual(["endpoints/room.toml", "endpoints/stay.toml"]);
    const { body } = await server.send({ method: "DISCOVER", path: "/methods" });
    const pairs = (body as unknown as readonly { path: string }[]).map(({ path }) => path);
    expect(pairs).toContain("/orders/{order_id}");
    expect(pairs).not.toContain("/stays");
  });
});

describe("the endpoints of a deployment", () => {
  it.each<[string, string, Parameters<typeof endpointFile>[0]]>([
    ["§3.6: a legacy verb", "endpoint.method", { method: "GET", path: "/menu" }],
    [
      "§4.5: a verb the catalog does not have",
      "endpoint.method",
      { method: "ZAPP", path: "/menu" },
    ],
    ["§3.2: a lower-case method", "endpoint.method", { method: "book", path: "/menu" }],
    ["§5.1: a method in the path", "endpoint.path", { method: "BOOK", path: "/x/re-serve" }],
    ["§5.1: a trailing slash", "endpoint.path", { method: "BOOK", path: "/menu/" }],
    ["§5.2: a mixed segment", "endpoint.path", { method: "BOOK", path: "/x-{id}" }],
    ["§5.3: an RFC 6570 expression", "endpoint.path", { method: "BOOK", path: "/menu{?q}" }],
    ["§5.3: an undeclared parameter", "endpoint.path", { method: "BOOK", path: "/menu/{id}" }],
    ["§5.4: a pair that is taken", "endpoint.path", { method: "BOOK", path: "/room" }],
    ["§5.8: DISCOVER at the root", "endpoint.path", { method: "DISCOVER", path: "/" }],
    [
      "§12.1: a recipe nobody registered",
      "endpoint.handler.recipe",
      {
        method: "AUDIT",
        path: "/menu",
        errors: ["composition_failed"],
        handler: { type: "composition", recipe: "stray" },
      },
    ],
    [
      "§12.1: a composition with less authority than its steps",
      "endpoint.handler.recipe",
      {
        method: "AUDIT",
        path: "/menu",
        errors: ["composition_failed"],
        handler: { type: "composition", recipe: "stay" },
      },
    ],
    [
      "§12.1: a composition that does not declare composition_failed",
      "endpoint.errors",
      {
        method: "AUDIT",
        path: "/menu",
        required_scopes: ["booking:room"],
        handler: { type: "composition", recipe: "stay" },
      },
    ],
    [
      "§12.3: plain http",
      "endpoint.handler.url",
      {
        method: "AUDIT",
        path: "/menu",
        errors: [
          "upstream_timeout",
          "upstream_connection_error",
          "upstream_malformed_response",
          "upstream_authentication_failed",
          "upstream_error",
        ],
        handler: { type: "external_service", url: "http://upstream.invalid/", method: "GET" },
      },
    ],
  ])("refuse %s", async (_, key, options) => {
    const { isServed, problems } = await load(withEndpoint(options));
    expect(isServed).toBe(true);
    expect(problems.map(({ file }) => file)).toEqual(["endpoints/z-other.toml"]);
    expect(problems[0]?.key).toContain(key);
  });

  it("§5.4: refuse two templates that match the same paths equally well", async () => {
    const properties = { a: { type: "string" }, b: { type: "string" } };
    const { problems } = await load({
      ...discoveryFiles(),
      "endpoints/one.toml": endpointFile({ method: "BOOK", path: "/x/{a}/y", properties }),
      "endpoints/two.toml": endpointFile({ method: "BOOK", path: "/x/{b}/y", properties }),
      "endpoints/three.toml": endpointFile({ method: "CANCEL", path: "/x/{b}/y", properties }),
    });
    expect(problems).toMatchObject([{ file: "endpoints/two.toml", key: "endpoint.path" }]);
  });

  it.each(["/agents/{agent}", "/agents/{agent_id}", "/{kind}/mine", "/agents/lauren"])(
    "§6.1: refuse ACTIVATE %s, whose requests the protocol answers",
    async (path) => {
      const properties = Object.fromEntries(
        ["agent", "agent_id", "kind"].map((name) => [name, { type: "string" }]),
      );
      const { isServed, problems } = await load(
        withEndpoint({ method: "ACTIVATE", path, properties }),
      );
      expect(isServed).toBe(true);
      expect(problems).toMatchObject([{ file: "endpoints/z-other.toml", key: "endpoint.path" }]);
      expect(problems.map(formatProblem).join()).toContain("belongs to the protocol");
    },
  );

  it("§3.3: may have a custom method, when the policy names it", async () => {
    const endpoint = {
      "endpoints/z-other.toml": endpointFile({ method: "SALUTE", path: "/guests" }),
    };
    const policies = { methods: { custom: ["SALUTE"] } };
    expect((await load({ ...discoveryFiles(), ...endpoint })).problems).toHaveLength(1);
    expect((await load({ ...withPolicies(policies), ...endpoint })).problems).toEqual([]);
  });
});

// AGTP-API §9.2, §9.4
describe("a policy that stops the start", () => {
  it.each([
    ["a typo in legacy", { methods: { legacy: ["GTE"] } }, "policies.methods.legacy"],
    ["an AGTP verb in legacy", { methods: { legacy: ["FETCH"] } }, "policies.methods.legacy"],
    ["a chain of aliases", { methods: { aliases: { GET: "POST", POST: "CREATE" } } }, "GET"],
    ["a circle of aliases", { methods: { aliases: { GET: "POST", POST: "GET" } } }, "GET"],
    ["an alias for nothing", { methods: { aliases: { GET: "FETCHED" } } }, "GET"],
    ["a custom method with a digit", { methods: { custom: ["B2B"] } }, "custom"],
    ["a built-in nobody reserved", { builtins: { proposals: "handlers.echo" } }, "builtins"],
    ["an override that is no function", { builtins: { apis: "handlers.none" } }, "builtins.apis"],
  ])("has %s", async (_, policies, key) => {
    const { isServed, problems } = await load(withPolicies(policies));
    expect(isServed).toBe(false);
    expect(problems.filter(isError).map(formatProblem).join("\n")).toContain(key);
  });
});

// AGTP-API §9.4
describe("a policy that names removed methods", () => {
  it.each([
    ["allow", { allow: ["BOOK", "RESERVE", "ZAPP"] }],
    ["disallow", { disallow: ["ZAPP"] }],
    ["redirects", { redirects: [{ from_method: "ZAPP", to_method: "BOOK" }] }],
  ])("in %s is served without them, with a warning", async (key, methods) => {
    const { isServed, problems } = await load(withPolicies({ methods }));
    expect(isServed).toBe(true);
    expect(problems).toMatchObject([{ severity: "warning" }]);
    expect(problems[0]?.key).toContain(`policies.methods.${key}`);
  });
});

// AGTP-API §4.5
describe("a catalog that lost verbs", () => {
  const catalog = JSON.stringify({
    version: "2.0.0",
    embedded: [],
    legacy: {},
    categories: {},
    verbs: {},
  });

  it("stops the start when it lost the floor", async () => {
    const { isServed, problems } = await load({
      ...discoveryFiles(),
      "catalog/methods.json": catalog,
    });
    expect(isServed).toBe(false);
    expect(problems[0]?.file).toBe("catalog/methods.json");
  });
});

// AGTP-API §13.2
describe("a catalog that cannot be used", () => {
  it.each([
    ["is not JSON", "{"],
    ["has no version", JSON.stringify({ embedded: [], legacy: {}, categories: {}, verbs: {} })],
  ])("hides nothing of what else is wrong, and no more is told: it %s", async (_, catalog) => {
    const { isServed, problems } = await load({
      ...withPolicies({
        methods: { disallow: ["FROB"], aliases: { FETCH: "LOOKUP", LOOKUP: "QUERY" } },
      }),
      "catalog/methods.json": catalog,
      "endpoints/frob.toml": endpointFile({ method: "FROB", path: "/reserve" }),
      "endpoints/lost.toml": endpointFile({
        method: "CANCEL",
        path: "/room",
        handler: functionAt("handlers.missing"),
      }),
      "endpoints/mixed.toml": endpointFile({ method: "BOOK", path: "/x-{id}" }),
      "recipes/bad.toml": "[[recipe]]\nname = 1\nversion = 1\n",
    });
    expect(isServed).toBe(false);
    const others = problems.filter(({ file }) => file !== "catalog/methods.json");
    expect(others.length).toBeLessThan(problems.length);
    expect(new Set(others.map(({ file, key }) => `${file} ${key.split("[")[0]}`))).toEqual(
      new Set([
        "agtp-server.toml policies.methods.aliases.FETCH",
        "endpoints/lost.toml endpoint.handler.function",
        "endpoints/mixed.toml endpoint.path",
        "recipes/bad.toml recipe",
      ]),
    );
  });
});

// AGTP-API §12.1
describe("the steps of a composition", () => {
  it("reach what a redirect leads to", async () => {
    const redirects = [
      { from_method: "BOOK", from_path: "/room", to_method: "RESERVE", to_path: "/room" },
    ];
    const server = await openServer({
      ...withPolicies({ methods: { redirects } }),
      "endpoints/room.toml": endpointFile({
        method: "RESERVE",
        path: "/room",
        required_scopes: ["booking:room"],
      }),
    });
    const headers = { "Agent-ID": ALICE };
    const reply = await server.send({ method: "RESERVE", path: "/stays", headers });
    expect(reply.body).toMatchObject({ method: "RESERVE", requested_method: "BOOK" });
  });

  it("may not gain authority through a redirect", async () => {
    const redirects = [
      { from_method: "BOOK", from_path: "/room", to_method: "RESERVE", to_path: "/vault" },
    ];
    const { problems } = await load({
      ...withPolicies({ methods: { redirects } }),
      "endpoints/vault.toml": endpointFile({
        method: "RESERVE",
        path: "/vault",
        required_scopes: ["vault:open"],
      }),
    });
    expect(problems).toMatchObject([
      { file: "endpoints/stay.toml", message: expect.stringContaining("vault:open") },
    ]);
  });
});

// AGTP-API §13.3
describe("output_validation", () => {
  const files = (outputValidation: string): DeploymentFiles => ({
    ...withPolicies({ output_validation: outputValidation }),
    "handlers.mjs": "export const echo = () => ({ body: { known: 1, more: 2 } });",
    "endpoints/z-other.toml": endpointFile({
      method: "QUERY",
      path: "/menu",
      output_schema: { type: "object", properties: { known: { type: "integer" } } },
    }),
  });

  it.each([
    ["open", 200],
    ["strict", 500],
  ])("%s answers an output with more members than declared with %i", async (mode, status) => {
    const server = await openServer(files(mode));
    const headers = { "Agent-ID": ALICE };
    expect((await server.send({ method: "QUERY", path: "/menu", headers })).status).toBe(status);
  });
});

// AGTP-API §5.8
describe("a floor method that the operator's endpoint is bound to", () => {
  const files = {
    ...discoveryFiles(),
    "endpoints/plan.toml": endpointFile({ method: "PLAN", path: "/" }),
  };

  it("is answered by the endpoint", async () => {
    const server = await openServer(files);
    const reply = await server.send({ method: "PLAN", headers: { "Agent-ID": ALICE } });
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ method: "PLAN" });
  });

  it("is marked in the manifest, and no other is", async () => {
    const server = await openServer(files);
    const { body } = await server.send({ method: "DISCOVER" });
    const methods: unknown = body["embedded_methods"];
    expect(methods).toHaveLength(18);
    expect(methods).toContainEqual(expect.objectContaining({ name: "PLAN", binding: "operator" }));
    const marked = JSON.stringify(methods).match(/"binding"/g);
    expect(marked).toHaveLength(1);
  });

  it("does not take DISCOVER away", async () => {
    const endpoint = endpointFile({ method: "DISCOVER", path: "/" });
    const { problems } = await load({ ...discoveryFiles(), "endpoints/root.toml": endpoint });
    expect(problems).toMatchObject([{ file: "endpoints/root.toml", key: "endpoint.path" }]);
  });
});

async function check(files: DeploymentFiles): Promise<readonly string[]> {
  const { configPath } = makeDeployment(files);
  const log = createLog("silent", { write: () => undefined, flush: () => Promise.resolve() });
  const problems = await checkDeployment({ configPath, env: {}, log });
  return problems.filter(isError).map(formatProblem);
}

const BROKEN_PARTS: DeploymentFiles = {
  "endpoints/z-bound-to-nothing.toml": endpointFile({
    method: "CANCEL",
    path: "/room",
    handler: { type: "registered_function", function: "handlers.missing" },
  }),
  "endpoints/z-custom.toml": endpointFile({ method: "FROB", path: "/room" }),
  "recipes/z-empty.toml": '[[recipe]]\nname = "r"\nversion = "1"\n',
};
const OF_BROKEN_PARTS = [
  expect.stringMatching(/^recipes\/z-empty\.toml: recipe\[0\]\.steps: /),
  expect.stringMatching(/^endpoints\/z-bound-to-nothing\.toml: endpoint\.handler\.function: /),
];

// AGTP-API §13.2
describe("checking a deployment whose configuration is refused", () => {
  it("says what is wrong with its other files as well, once", async () => {
    const policies = { rcns: { mode: "fast" }, methods: { custom: ["FROB", "lower"] } };
    const lines = await check({
      ...discoveryFiles({ policies, server: { prot: 1, port: "x" }, limits: { body_bytes: -1 } }),
      ...BROKEN_PARTS,
    });
    expect(lines).toHaveLength(new Set(lines).size);
    expect(lines).toEqual([
      expect.stringMatching(/^agtp-server\.toml: server\.prot: /),
      expect.stringMatching(/^agtp-server\.toml: server\.port: /),
      expect.stringMatching(/^agtp-server\.toml: limits\.body_bytes: /),
      expect.stringMatching(/^agtp-server\.toml: policies\.methods\.custom\[1\]: /),
      expect.stringMatching(/^agtp-server\.toml: policies\.rcns\.mode: /),
      ...OF_BROKEN_PARTS,
    ]);
  });

  it("does so for a method policy that contradicts itself", async () => {
    const aliases = { GET: "POST", POST: "GET" };
    const methods = { custom: ["FROB"], aliases };
    const lines = await check({ ...discoveryFiles({ policies: { methods } }), ...BROKEN_PARTS });
    expect(lines).toEqual([
      expect.stringMatching(/^agtp-server\.toml: policies\.methods\.aliases\.GET: /),
      expect.stringMatching(/^agtp-server\.toml: policies\.methods\.aliases\.POST: /),
      ...OF_BROKEN_PARTS,
    ]);
  });

  it("does so for the keys of tokens and for certificates, once", async () => {
    const identity = { trusted_issuers: ["none"] };
    const oauth = { issuer: "https://issuer.example", audience: "agtp", jwks_file: "keys.json" };
    const policies = { identity, oauth, methods: { custom: ["FROB"] } };
    const pair = (name: string) => ({ cert: `${name}.pem`, key: `${name}.pem` });
    const gateway = { enabled: true, ...pair("gone") };
    const files = {
      ...discoveryFiles({ policies, tls: pair("none"), gateway }),
      ...{ "keys.json": "{}", "none.pem": "none", ...BROKEN_PARTS },
    };
    expect(await check(files)).toEqual([
      expect.stringMatching(/^agtp-server\.toml: policies\.identity\.trusted_issuers\[0\]: /),
      expect.stringMatching(/^agtp-server\.toml: gateway\.cert: /),
      expect.stringMatching(/^agtp-server\.toml: gateway\.key: /),
      expect.stringMatching(/^none\.pem: /),
      expect.stringMatching(/^none\.pem: /),
      expect.stringMatching(/^agtp-server\.toml: policies\.oauth\.jwks_file: /),
      ...OF_BROKEN_PARTS,
    ]);
    const allowed = { oauth, methods: { custom: ["FROB"] } };
    const lines = await check({
      ...files,
      "agtp-server.toml": configFile({ policies: allowed }),
    });
    expect(lines).toEqual([
      expect.stringMatching(/^agtp-server\.toml: policies\.oauth\.jwks_file: /),
      ...OF_BROKEN_PARTS,
    ]);
  });

  it("names the items of a list by their places in the file, whatever is wrong with others", async () => {
    const redirects = [
      { from_method: "BOOK" },
      { from_method: "BOOK", to_method: "RESERVE", to_path: "/rooms/{id}" },
      { from_method: "book", to_method: "RESERVE" },
      { from_method: "CANCEL", to_method: "RESERVE", to_path: "/cancel" },
    ];
    const lines = await check(discoveryFiles({ policies: { methods: { redirects } } }));
    const places = ["0].to_method", "2].from_method", "1].to_path", "3].to_path"];
    expect(lines.map((line) => line.split(": ")[1])).toEqual(
      places.map((place) => `policies.methods.redirects[${place}`),
    );
  });

  it.each([
    ["endpoints", { dir: 5 }, "dir", OF_BROKEN_PARTS.slice(0, 1)],
    ["endpoints", { dri: "api" }, "dri", OF_BROKEN_PARTS.slice(0, 1)],
    ["recipes", { dir: 5 }, "dir", []],
    ["handlers", { root: 5 }, "root", OF_BROKEN_PARTS.slice(0, 1)],
    ["catalog", { file: 5 }, "file", OF_BROKEN_PARTS],
  ])("says nothing of what is in a place that nobody can tell: [%s] %j", async (...given) => {
    const [section, table, key, others] = given;
    const policies = { methods: { custom: ["FROB"] } };
    const tables = { ...discoveryFiles({ policies, [section]: table }), ...BROKEN_PARTS };
    const first = expect.stringMatching(new RegExp(`^agtp-server\\.toml: ${section}\\.${key}: `));
    expect(await check(tables)).toEqual([first, ...others]);
  });
});

// AGTP-API §9.2
describe("a method policy", () => {
  const other = withEndpoint({
    ...{ method: "CANCEL", path: "/other", handler: functionAt("handlers.echo") },
  });
  const problemsUnder = async (methods: object): Promise<readonly string[]> => {
    const { isServed, problems } = await load({ ...other, ...withPolicies({ methods }) });
    expect(isServed).toBe(true);
    return problems.map(formatProblem);
  };

  it("is warned about where it has the method of an endpoint as another name", async () => {
    expect(await problemsUnder({ aliases: { CANCEL: "BOOK" } })).toEqual([
      'endpoints/z-other.toml: endpoint.method: is never reached: [policies.methods] has "CANCEL" as another name of BOOK',
    ]);
  });

  it("is warned about where a redirect leads to no endpoint", async () => {
    const redirects = [{ from_method: "CANCEL", from_path: "/a/{b}", to_method: "BOOK" }];
    expect(await problemsUnder({ redirects })).toEqual([
      "agtp-server.toml: policies.methods.redirects[0]: leads to BOOK /a/{b}, which no endpoint answers",
    ]);
  });

  it.each([
    { disallow: ["CANCEL"] },
    { redirects: [{ from_method: "CANCEL", to_method: "BOOK" }] },
    { redirects: [{ from_method: "CANCEL", to_method: "BOOK", to_path: "/room" }] },
  ])("may switch off what is there: %j", async (methods) => {
    expect(await problemsUnder(methods)).toEqual([]);
  });
});
