import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { type LoadedConfig, loadConfig } from "../../../src/app/config/load.ts";
import { formatProblem, type Problem } from "../../../src/base/problem.ts";
import { serverKey } from "../../support/delegation.ts";
import { configFile } from "../../support/deployment.ts";
import { makeDirectory } from "../../support/directory.ts";
import { makeKey } from "../../support/private-key.ts";

const MINIMAL = '[server]\nserver_id = "agents.example"\n';

function load(
  toml: string | Uint8Array,
  files: Readonly<Record<string, string>> = {},
  environment: Readonly<Record<string, string>> = {},
): LoadedConfig {
  const directory = makeDirectory({
    "catalog/methods.json": "{}",
    "agtp-server.toml": toml,
    ...files,
  });
  return loadConfig(join(directory, "agtp-server.toml"), environment);
}

/** Problems as an operator reads them, without the file they all have in common. */
function written(problems: readonly Problem[]): string[] {
  return problems.map((problem) => formatProblem(problem).replace("agtp-server.toml: ", ""));
}

function problemsOf(...deployment: Parameters<typeof load>): string[] {
  return written(load(...deployment).problems);
}

describe("loadConfig", () => {
  it.each(["1", "4", '"auto"'])("takes %s for a number of workers", (workers) => {
    expect(problemsOf(`${MINIMAL}workers = ${workers}\n`)).toEqual([]);
  });

  it("takes several workers over a database for a mistake", () => {
    const store = '[store]\ndriver = "postgres"\nurl = "postgres://db.example/agtpd"\n';
    expect(problemsOf(`${MINIMAL}workers = 1\n${store}`)).toEqual([]);
    expect(problemsOf(`${MINIMAL}workers = "auto"\n${store}`)).toEqual([
      'server.workers: must be 1 with store.driver = "postgres" ' +
        "(start a daemon for each, with a directory and a port of its own)",
    ]);
  });

  it("takes files that the URL of a database names for relative to the configuration", () => {
    const files = { "tls/a b.pem": "", "tls/key.pem": "" };
    const parameters = "sslcert=tls%2Fa+b.pem&sslkey=tls/key.pem&application_name=a%20b";
    const url = `postgres://a%2Fb:c%25@db.example/x?${parameters}`;
    const store = `[store]\ndriver = "postgres"\nurl = "\${DATABASE_URL}"\n`;
    const { config, problems } = load(`${MINIMAL}${store}`, files, { DATABASE_URL: url });
    expect(problems).toEqual([]);
    const file = (name: string) => encodeURIComponent(join(config?.directory ?? "", "tls", name));
    expect(config?.store.url).toBe(
      `postgres://a%2Fb:c%25@db.example/x?sslcert=${file("a b.pem")}&sslkey=${file("key.pem")}&application_name=a%20b`,
    );
    const gone = load(`${MINIMAL}${store}`, {}, { DATABASE_URL: `${url}&sslrootcert=no.pem` });
    expect(written(gone.problems)).toEqual([
      expect.stringMatching(/^store\.url: ".*\/no\.pem" does not exist$/),
    ]);
  });

  it.each(["0", "1.5", '"many"'])("takes %s for no number of workers", (workers) => {
    expect(problemsOf(`${MINIMAL}workers = ${workers}\n`)).toHaveLength(1);
  });

  it.each([
    ["postgres://db/x", "require", "postgres://db/x?sslmode=require"],
    ["postgres://db/x?a=1", "verify-full", "postgres://db/x?a=1&sslmode=verify-full"],
    ["postgres://db/x?sslmode=disable", "verify-full", "postgres://db/x?sslmode=disable"],
    ["postgres://db/x?a=1&ssl=true", "verify-ca", "postgres://db/x?a=1&ssl=true"],
    ["postgres://db/x", "prefer", "postgres://db/x"],
    ["postgres://db/x", "", "postgres://db/x"],
  ])("reaches %s by TLS as PGSSLMODE=%s asks for it", (url, mode, meant) => {
    const store = `[store]\ndriver = "postgres"\nurl = "${url}"\n`;
    const { config } = load(`${MINIMAL}${store}`, {}, { PGSSLMODE: mode });
    expect(config?.store.url).toBe(meant);
    const inFile = load(`${MINIMAL}${store}`, { ".env": `PGSSLMODE=${mode}\n` });
    expect(inFile.config?.store.url).toBe(meant);
  });

  it("fills in every default", () => {
    const { config, problems } = load(MINIMAL);
    expect(problems).toEqual([]);
    expect(config?.server).toEqual({
      serverId: "agents.example",
      host: "127.0.0.1",
      port: 4480,
      workers: 1,
      onInvalid: "skip",
    });
    expect(config?.limits).toEqual({
      requestLineBytes: 8192,
      headerBytes: 65_536,
      headerCount: 128,
      bodyBytes: 1_048_576,
      headerTimeoutMs: 10_000,
      bodyTimeoutMs: 30_000,
      idleTimeoutMs: 60_000,
      handlerTimeoutMs: 30_000,
      maxConnections: 10_000,
      maxConnectionsPerAddress: 1000,
      maxPipelined: 64,
      drainTimeoutMs: 10_000,
      requestsPerSecond: 0,
      workMsPerSecond: 200,
      sendBufferBytes: 16_777_216,
      sendBufferTotalBytes: 268_435_456,
    });
    expect(config?.policies.methods).toEqual({
      allow: "*",
      disallow: [],
      legacy: "NONE",
      custom: [],
      redirects: [],
    });
    expect(config?.openwop).toMatchObject({
      tenant: "default",
      runtime: { kind: "deterministic" },
    });
    expect(config?.tls).toEqual({ clientAuth: "none" });
  });

  it("makes paths absolute, from the directory of the file", () => {
    const directory = makeDirectory({
      "catalog/methods.json": "{}",
      "agtp-server.toml": `${MINIMAL}[recipes]\ndir = "../shared/recipes"\n[agents]\ndir = "/agents"`,
    });
    const { config } = loadConfig(join(directory, "agtp-server.toml"), {});
    expect(config?.directory).toBe(directory);
    expect(config?.file).toBe(join(directory, "agtp-server.toml"));
    expect(config?.endpoints.dir).toBe(join(directory, "endpoints"));
    expect(config?.handlers.root).toBe(directory);
    expect(config?.recipes.dir).toBe(join(directory, "..", "shared", "recipes"));
    expect(config?.agents.dir).toBe("/agents");
  });

  it("converts keys to camelCase and keeps the operator's own", () => {
    const { config, problems } = load(`${MINIMAL}
      [policies.methods.aliases]
      look_up = "QUERY"
      [[policies.methods.redirects]]
      from_method = "BOOK"
      to_method = "RESERVE"
      to_path = "/rooms"
      [policies.builtins]
      methods = "endpoints.inventory.methods"
      [policies.oauth]
      issuer = "https://id.example"
      jwks_uri = "https://id.example/jwks"
      [[apis]]
      name = "orders"
      base_url = "https://orders.example"
      [[hosted_protocols]]
      protocol = "mcp"
      method = "EXECUTE"
      path = "/mcp"
      [[agntcy]]
      manifest = "mail.json"
      base = "/mail"
      [openwop.runtime.models]
      tool_using = "small"`);
    expect(problems).toEqual([]);
    expect(config?.policies.methods.aliases).toEqual({ look_up: "QUERY" });
    expect(config?.policies.methods.redirects).toEqual([
      { fromMethod: "BOOK", toMethod: "RESERVE", toPath: "/rooms" },
    ]);
    expect(config?.policies.builtins).toEqual({ methods: "endpoints.inventory.methods" });
    expect(config?.policies.oauth).toEqual({
      issuer: "https://id.example",
      jwksUri: "https://id.example/jwks",
      principalClaim: "sub",
      requiredOnMethods: [],
    });
    expect(config?.apis).toEqual([{ name: "orders", base_url: "https://orders.example" }]);
    expect(config?.hostedProtocols).toHaveLength(1);
    expect(config?.agntcy[0]).toMatchObject({ base: "/mail", timeoutSeconds: 300 });
    expect(config?.openwop).toMatchObject({ runtime: { models: { tool_using: "small" } } });
  });

  it("tells no aliases from an empty table of them", () => {
    expect(load(MINIMAL).config?.policies.methods).not.toHaveProperty("aliases");
    const emptied = load(`${MINIMAL}[policies.methods.aliases]\n`);
    expect(emptied.config?.policies.methods.aliases).toEqual({});
  });

  it("freezes the configuration all the way down", () => {
    const { config } = load(`${MINIMAL}[[apis]]\nname = "orders"`);
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config?.policies.methods.custom)).toBe(true);
    expect(Object.isFrozen(config?.apis[0])).toBe(true);
  });

  it("replaces variables of the environment, once", () => {
    const { config } = load(
      `[server]\nserver_id = "\${NAME}.example"\noperator = "\${WHO}"`,
      {},
      { NAME: "agents", WHO: `\${NAME}` },
    );
    expect(config?.server.serverId).toBe("agents.example");
    expect(config?.server.operator).toBe(`\${NAME}`);
  });

  it("names the key and the variable that is not set, and says nothing else about the key", () => {
    expect(problemsOf(`[server]\nserver_id = "\${AGTP_ID}"\nport = 70000`)).toEqual([
      "server.server_id: the environment variable AGTP_ID is not set (set it where the daemon is started, or in .env beside the configuration)",
      "server.port: must be at most 65535, got 70000",
    ]);
  });

  it("quotes what was written, not the variable's value", () => {
    const problems = problemsOf(`${MINIMAL}port = "\${PORT}"`, {}, { PORT: "5000" });
    expect(problems).toEqual([`server.port: must be an integer, got "\${PORT}"`]);
  });

  it("takes every value that a variable of a program may have, and every argument", () => {
    const program = `name = "a"\nenv = { EMPTY = "", KEY = "one\\ntwo" }`;
    const problems = problemsOf(`${MINIMAL}
      [[processes]]
      ${program}
      command = ["node", ""]
      [[mcp.servers]]
      ${program}
      command = "node"
      args = [""]`);
    expect(problems).toEqual([]);
  });

  it("wants a program, and of a variable what no program could be given", () => {
    const entry = `${MINIMAL}\n[[processes]]\nname = "a"\n`;
    const nul = problemsOf(`${entry}command = ["node"]\nenv = { KEY = "hush\\u0000" }`);
    expect(nul).toEqual(["processes[0].env.KEY: must be a text without NUL"]);
    const empty = problemsOf(`${entry}command = ["", "a"]`);
    expect(empty).toEqual(["processes[0].command[0]: is empty, expected a program"]);
  });

  it("never quotes a secret", () => {
    const problems = problemsOf(`${MINIMAL}
      [webhooks]
      secret = "hush\\u0001"
      [store]
      driver = "postgres"
      url = "mysql://root:hush@db"`);
    expect(problems).toEqual([
      "webhooks.secret: must be a text that is not empty and has no control characters",
      'store.url: must start with "postgres://"',
    ]);
  });

  it.each([
    ['[tracing]\nheaders = { Authorization = "hush€" }', "tracing.headers.Authorization"],
    [
      '[[mcp.servers]]\nname = "a"\nurl = "https://a.example"\ntoken = "hush€"',
      "mcp.servers[0].token",
    ],
    ['[openwop.runtime]\napi_key = "hush\\u007f"', "openwop.runtime.api_key"],
  ])("wants of a credential what a header field can hold: %j", (toml, key) => {
    const expected =
      "a text that a header field can hold: not empty, without control characters, of Latin-1";
    expect(problemsOf(`${MINIMAL}${toml}`)).toEqual([`${key}: must be ${expected}`]);
    expect(problemsOf(`${MINIMAL}${toml.replace(/hush[^"]*/, "très secret")}`)).toEqual([]);
  });

  it.each(["::1", "::", "fe80::1%eth0", "::ffff:127.0.0.1", "2001:db8::7"])(
    "takes the address %j",
    (host) => {
      expect(problemsOf(`${MINIMAL}[metrics]\nhost = "${host}"`)).toEqual([]);
    },
  );

  it("warns of a database's URL that another driver leaves alone", () => {
    const toml = `${MINIMAL}[store]\nurl = "postgres://db/agtp"`;
    expect(load(toml).config).toBeDefined();
    expect(problemsOf(toml)).toEqual([
      'store.url: is not used by driver = "sqlite" (driver = "postgres" does)',
    ]);
  });

  it("knows webhooks and groups by the operator's names", () => {
    const { config, problems } = load(`${MINIMAL}
      [webhooks.recipients]
      front_desk = "https://desk.example/hook"
      [groups]
      night_shift = ["concierge", "webhook:front_desk"]`);
    expect(problems).toEqual([]);
    expect(config?.webhooks.recipients).toEqual({ front_desk: "https://desk.example/hook" });
    expect(config?.groups).toEqual({ night_shift: ["concierge", "webhook:front_desk"] });
    expect(load(MINIMAL).config).toMatchObject({ webhooks: { recipients: {} }, groups: {} });
  });

  it.each([
    ['[webhooks]\nca = "gone.pem"', /^webhooks\.ca: .*gone\.pem/],
    ['[webhooks.recipients]\n"a b" = "https://x.example"', /^webhooks\.recipients\.?.*a b/],
    [
      '[webhooks.recipients]\ndesk = "http://x.example"',
      /^webhooks\.recipients\.desk: must be an https/,
    ],
    [
      '[webhooks.recipients]\ndesk = "https://a:b@x.example"',
      /^webhooks\.recipients\.desk: must be/,
    ],
    ['[webhooks.recipients]\ndesk = "https://["', "webhooks.recipients.desk: must be a URL"],
    ["[groups]\nnight = []", "groups.night: must have a member"],
    [
      '[groups]\nnight = ["group:day"]',
      'groups.night[0]: must be an agent or webhook:NAME, got "group:day"',
    ],
    [
      '[groups]\nnight = ["webhook:toString"]',
      'groups.night[0]: webhooks.recipients has no "toString"',
    ],
    [
      `[groups]\nnight = [${Array.from({ length: 257 }, (_, n) => `"a${n}"`).join(", ")}]`,
      "groups.night: must have at most 256 members",
    ],
  ])("finds what is wrong with %j", (toml, expected) => {
    const [problem = "", ...others] = problemsOf(`${MINIMAL}${toml}`);
    if (typeof expected === "string") expect(problem).toBe(expected);
    else expect(problem).toMatch(expected);
    expect(others).toEqual([]);
  });

  it.each([
    ["", "server.server_id: is required"],
    [`limits = 1979-05-27\n${MINIMAL}`, "limits: must not be a date"],
    ["server = 3", "server: must be a table, got 3"],
    [`${MINIMAL}hots = "::1"`, 'server.hots: unknown key "hots" (did you mean "host"?)'],
    [`${MINIMAL}[polices]`, 'polices: unknown key "polices" (did you mean "policies"?)'],
    [`${MINIMAL}[catalog]\nzzzzzz = 1`, 'catalog.zzzzzz: unknown key "zzzzzz" (known keys: file)'],
    [`${MINIMAL}"a.b" = 1`, /^server\."a\.b": unknown key "a\.b"/],
    [`${MINIMAL}__proto__ = 1`, /^server\.__proto__: unknown key "__proto__"/],
    [`${MINIMAL}port = 4480.5`, "server.port: must be an integer, got 4480.5"],
    [`${MINIMAL}port = nan`, "server.port: must be an integer, got NaN"],
    [`${MINIMAL}port = -1`, "server.port: must be at least 0, got -1"],
    [`${MINIMAL}host = "a b"`, 'server.host: must be a host name or an IP address, got "a b"'],
    [`${MINIMAL}operator = ["x"]`, "server.operator: must be a string, got a list"],
    [`${MINIMAL}[agentcli]\nexpose = "nightly"`, 'agentcli.expose: must be a list, got "nightly"'],
    [`${MINIMAL}on_invalid = true`, 'server.on_invalid: must be one of "skip", "fail", got true'],
    [
      `${MINIMAL}on_invalid = "stop"`,
      'server.on_invalid: must be one of "skip", "fail", got "stop"',
    ],
    [
      `${MINIMAL}[policies.rcns]\nmode = "eager"`,
      'policies.rcns.mode: must be one of "confirm-first", "optimistic", got "eager"',
    ],
    [
      `${MINIMAL}[policies.identity]\nunknown_trust_tier = 4`,
      "policies.identity.unknown_trust_tier: must be one of 1, 2, 3, got 4",
    ],
    [`${MINIMAL}[[agntcy]]\nmanifest = "a.json"`, "agntcy[0].base: is required"],
    [`${MINIMAL}[[mcp.servers]]\ncommand = "x"`, "mcp.servers[0].name: is required"],
    [
      `${MINIMAL}[[agntcy]]\nmanifest = "a.json"\nbase = "mail"`,
      'agntcy[0].base: must be a path that starts with "/", got "mail"',
    ],
    [
      `${MINIMAL}[policies.methods]\nallow = "all"`,
      'policies.methods.allow: must be "*" or a list, got "all"',
    ],
    [
      `${MINIMAL}[policies.methods]\nlegacy = "GET"`,
      'policies.methods.legacy: must be "NONE", "*" or a list, got "GET"',
    ],
    [
      `${MINIMAL}[policies.methods]\nlegacy = ["GET", "HEAD"]`,
      'policies.methods.legacy[1]: must be one of "GET", "POST", "PUT", "DELETE", "PATCH", got "HEAD"',
    ],
    [
      `${MINIMAL}[policies.methods]\ncustom = ["CheckIn"]`,
      'policies.methods.custom[0]: must be a method name of 3 to 32 upper-case letters, got "CheckIn"',
    ],
    [
      `${MINIMAL}[policies.methods]\ncustom = ["TRACE"]`,
      'policies.methods.custom[0]: must not be an HTTP method, got "TRACE" (policies.methods.legacy accepts HTTP verbs)',
    ],
    [
      `${MINIMAL}[[policies.methods.redirects]]\nfrom_method = "BOOK"`,
      "policies.methods.redirects[0].to_method: is required",
    ],
    [
      `${MINIMAL}[[policies.methods.redirects]]\nfrom_method = "BOOK"\nto_method = "BOOK"`,
      "policies.methods.redirects[0]: must not redirect to itself",
    ],
    [
      `${MINIMAL}[policies.builtins]\nmethod = "endpoints.inventory"`,
      /^policies\.builtins\.method: the key must be one of "methods".* \(did you mean "methods"\?\)$/,
    ],
    [
      `${MINIMAL}[policies.builtins]\nmethods = "inventory"`,
      /^policies\.builtins\.methods: must be a dotted path/,
    ],
    [
      `${MINIMAL}[policies.oauth]\nissuer = "x"`,
      "policies.oauth: must have one of jwks_uri and jwks_file",
    ],
    [
      `${MINIMAL}[policies.oauth]\nissuer = "x"\njwks_uri = "http://id.example/jwks"`,
      /^policies\.oauth\.jwks_uri: must be an https URL/,
    ],
    [`${MINIMAL}[store]\ndriver = "postgres"`, 'store.url: is required by driver = "postgres"'],
    ...["https://[", "https://u:p@x.example", "https://x.example/a?b=c", "https://x.example#a"].map(
      (url): [string, string] => [
        `${MINIMAL}[gateway]\nbase_url = "${url}"`,
        "gateway.base_url: must be a URL without credentials, query and fragment",
      ],
    ),
    [
      `${MINIMAL}[limits]\nbody_bytes = 0\n[gateway]\nenabled = true`,
      "limits.body_bytes: must be at least 1 with gateway.enabled = true, got 0",
    ],
    ...["http://[", "http://127.0.0.1:4318/?a=b", "https://x.example#a"].map(
      (url): [string, string] => [
        `${MINIMAL}[tracing]\nendpoint = "${url}"`,
        "tracing.endpoint: must be a URL without query and fragment",
      ],
    ),
    ...["127.0.0.1:4480", "beef:4480"].map((host): [string, string] => [
      `${MINIMAL}host = "${host}"`,
      `server.host: must be a host name or an IP address, got "${host}"`,
    ]),
    [`${MINIMAL}[store]\npath = "."`, /^store\.path: ".*" must be a file, is a directory$/],
    [
      `${MINIMAL}[store]\ndriver = "postgres"\nurl = "postgres://a:b%c@db/x"`,
      "store.url: has a % that two hexadecimal digits do not follow: %25 stands for one",
    ],
    [
      `${MINIMAL}[store]\ndriver = "postgres"\nurl = "postgres://db/x?sslmode=prefer"`,
      'store.url: has another sslmode than "disable", "require" or "verify-full"',
    ],
    [
      `${MINIMAL}[store]\ndriver = "postgres"\nurl = "postgres://db/x"\nca = "agtp-server.toml"`,
      /^store\.ca: ".*" holds no PEM certificate, or one that is damaged$/,
    ],
    [
      `${MINIMAL}[synthesis]\npersistent_max_seconds = 60`,
      "synthesis.persistent_default_seconds: must be at most synthesis.persistent_max_seconds, 60, got 604800",
    ],
    [
      `${MINIMAL}[limits]\nidle_timeout_ms = 2147483648`,
      "limits.idle_timeout_ms: must be at most 2147483647, got 2147483648",
    ],
    [`${MINIMAL}[tls]\nclient_auth = "required"`, /^tls\.client_ca: is required by/],
    [
      `${MINIMAL}[policies.identity]\nassurance = "certificate"`,
      /^policies\.identity\.assurance: "certificate" needs tls\.client_auth, got "none"/,
    ],
    [`${MINIMAL}[agentcli]\nprompt_runtime = "magic"`, /^agentcli\.prompt_runtime: .*AGNTCY/],
    [`${MINIMAL}[agentcli.trust_levels]\n4 = "autonomous"`, /^agentcli\.trust_levels\.4: unknown/],
  ])("refuses %j", (toml, expected) => {
    const { config, problems } = load(toml);
    expect(written(problems)).toEqual([
      typeof expected === "string" ? expected : expect.stringMatching(expected),
    ]);
    expect(config).toBeUndefined();
  });

  it("collects every problem, across the schema and the rules between keys", () => {
    const problems = problemsOf(`${MINIMAL}hots = "::1"
      host = "0.0.0.0"
      [limits]
      header_count = 0
      [tls]
      client_auth = "optional"`);
    expect(problems.map((problem) => problem.replace(/:.*/, ""))).toEqual([
      "server.hots",
      "limits.header_count",
      "tls.cert",
      "tls.client_ca",
      "policies.identity.assurance",
    ]);
  });

  it("shows a bounded number of problems", () => {
    const keys = Array.from({ length: 1000 }, (_, index) => `key_${index} = 1\n`);
    const { problems } = load(`${MINIMAL}${keys.join("")}`);
    expect(problems).toHaveLength(201);
    expect(problems.at(-1)?.message).toBe("800 more problems are not shown");
  });
});

describe("loadConfig, for a file that is no configuration", () => {
  it("says where the TOML is wrong, without an excerpt that may show a secret", () => {
    const problems = problemsOf('[server]\nserver_id = "a"\nsecret = "hush" "hush"');
    expect(problems).toEqual([
      expect.stringMatching(/^is not TOML: line 3, column \d+, at secret: /),
    ]);
    expect(problems.join()).not.toContain("hush");
  });

  it("answers for a file that does not exist", () => {
    const directory = makeDirectory({});
    const { config, problems } = loadConfig(join(directory, "agtp-server.toml"), {});
    expect(config).toBeUndefined();
    expect(problems).toEqual([
      {
        file: "agtp-server.toml",
        key: "",
        message: `"${join(directory, "agtp-server.toml")}" does not exist`,
      },
    ]);
  });

  it("answers for a directory, a path with a NUL, and a file that is no UTF-8 or too long", () => {
    const directory = makeDirectory({
      "binary.toml": new Uint8Array([0x61, 0xff]),
      "long.toml": "#".repeat(1024 * 1024 + 1),
    });
    mkdirSync(join(directory, "dir.toml"));
    const messageOf = (name: string): string | undefined =>
      loadConfig(join(directory, name), {}).problems[0]?.message;
    expect(messageOf("dir.toml")).toContain("must be a file, is a directory");
    expect(messageOf("a\0b.toml")).toContain("cannot be read");
    expect(messageOf("binary.toml")).toContain("must be UTF-8 text");
    expect(messageOf("long.toml")).toContain("must be at most 1048576 bytes long, has 1048577");
  });

  it("refuses dotted keys that nest without end", () => {
    const { problems } = load(`${MINIMAL}${"a.".repeat(100_000)}a = 1`);
    expect(problems.some(({ message }) => message.includes("nested deeper than"))).toBe(true);
  });

  it("never throws, whatever the file says", () => {
    const scalar = fc.oneof(
      fc.integer().map(String),
      fc
        .double({ noNaN: true })
        .map((value) => (Number.isInteger(value) ? `${value}.0` : `${value}`)),
      fc.boolean().map(String),
      fc.string().map((value) => JSON.stringify(value)),
      fc.constantFrom("nan", "inf", "1979-05-27T07:32:00Z", "[]", "{}", '[["*"]]', `"\${PATH}"`),
    );
    const section = fc.constantFrom("server", "tls", "limits", "policies", "policies.methods");
    const key = fc.constantFrom("host", "port", "cert", "allow", "custom", "builtins", "__proto__");
    const directory = makeDirectory({ "agtp-server.toml": "" });
    fc.assert(
      fc.property(section, key, scalar, (name, member, value) => {
        const toml = `[${name}]\n${member} = ${value}\n`;
        const path = join(directory, "agtp-server.toml");
        writeFileSync(path, toml);
        expect(loadConfig(path, {}).problems.length).toBeGreaterThan(0);
      }),
      { numRuns: 40 },
    );
  });
});

describe("loadConfig, beyond loopback", () => {
  const OPEN = `${MINIMAL}host = "0.0.0.0"\n`;
  const TLS = '[tls]\ncert = "cert.pem"\nkey = "key.pem"\n';
  const FILES = { "cert.pem": "", "key.pem": "" };

  it.each(["127.0.0.1", "127.8.8.8", "::1", "0:0:0:0:0:0:0:1", "localhost", "LOCALHOST"])(
    "treats %s as loopback",
    (host) => {
      expect(problemsOf(`${MINIMAL}host = "${host}"`)).toEqual([]);
    },
  );

  it.each(["0.0.0.0", "::", "10.0.0.1", "fe80::1%eth0", "hotel.example", "127.example"])(
    "refuses %s without a certificate and without proof of identity",
    (host) => {
      const keys = load(`${MINIMAL}host = "${host}"`).problems.map(({ key }) => key);
      expect(keys).toEqual(["tls.cert", "policies.identity.assurance"]);
    },
  );

  it("serves unverified identities only when told so in as many words", () => {
    const allowed = "[policies.identity]\nallow_unverified_identity = true";
    expect(problemsOf(`${OPEN}${TLS}`, FILES)).toEqual([
      expect.stringContaining("allow_unverified_identity = true"),
    ]);
    expect(problemsOf(`${OPEN}${TLS}${allowed}`, FILES)).toEqual([]);
  });

  it("serves with certificates as proof", () => {
    const toml = `${OPEN}${TLS}client_auth = "required"\nclient_ca = "ca.pem"
      [policies.identity]\nassurance = "certificate"`;
    expect(problemsOf(toml, { ...FILES, "ca.pem": "" })).toEqual([]);
  });

  it("refuses an open lifecycle", () => {
    const toml = `${OPEN}${TLS}[policies.identity]
      allow_unverified_identity = true\nlifecycle_auth = "open"`;
    expect(problemsOf(toml, FILES)).toEqual([
      expect.stringMatching(/^policies\.identity\.lifecycle_auth: must not be "open"/),
    ]);
    expect(problemsOf(`${MINIMAL}[policies.identity]\nlifecycle_auth = "open"`)).toEqual([]);
  });

  it.each(["gateway", "metrics"])("refuses an open lifecycle beside an open %s", (section) => {
    const identity = '[policies.identity]\nlifecycle_auth = "open"\n';
    const listener = (more: string): string =>
      `${MINIMAL}${identity}[${section}]\nport = 0\n${section === "gateway" ? "allow_plain_http = true\n" : ""}${more}`;
    expect(problemsOf(listener('enabled = true\nhost = "0.0.0.0"'))).toEqual([
      expect.stringMatching(
        `^policies\\.identity\\.lifecycle_auth: must not be "open" on ${section}\\.host "0\\.0\\.0\\.0"`,
      ),
    ]);
    expect(problemsOf(listener('host = "0.0.0.0"'))).toEqual([]);
    expect(problemsOf(listener('enabled = true\nhost = "::1"'))).toEqual([]);
  });

  it("judges the host of the command line, not the one it replaces", () => {
    const directory = makeDirectory({
      "catalog/methods.json": "{}",
      "agtp-server.toml": MINIMAL,
    });
    const path = join(directory, "agtp-server.toml");
    const opened = loadConfig(path, {}, { host: "0.0.0.0" });
    expect(opened.problems.map(({ key }) => key)).toContain("policies.identity.assurance");
    const moved = loadConfig(path, {}, { host: "::1", port: 0 });
    expect(moved.config?.server).toMatchObject({ host: "::1", port: 0 });
    expect(loadConfig(path, {}, { port: 65_536 }).problems.map(({ key }) => key)).toEqual([
      "server.port",
    ]);
  });

  it("refuses a sidecar in plain HTTP beyond loopback, unless a proxy stands before it", () => {
    const exposed = `${MINIMAL}[gateway]\nenabled = true\nhost = "0.0.0.0"\n`;
    expect(problemsOf(exposed)).toEqual([
      expect.stringContaining('gateway.cert: is required on host "0.0.0.0", which is not loopback'),
    ]);
    expect(problemsOf(`${exposed}allow_plain_http = true`)).toEqual([]);
    expect(problemsOf(`${MINIMAL}[gateway]\nenabled = true`)).toEqual([]);
  });

  it("refuses a console beyond loopback that has no certificate", () => {
    const beyond = `${MINIMAL}[console]\nhost = "0.0.0.0"\n`;
    expect(problemsOf(`${beyond}enabled = true`)).toEqual([
      'console.cert: is required on host "0.0.0.0", which is not loopback',
    ]);
    expect(problemsOf(beyond)).toEqual([]);
    expect(problemsOf(`${MINIMAL}[console]\nenabled = true`)).toEqual([]);
  });

  it.each([
    ["deterministic", []],
    ["function", ["function"]],
    ["openai-compatible", ["base_url"]],
  ])("wants what a runtime of the kind %s is reached by", (kind, needed) => {
    expect(problemsOf(`${MINIMAL}[openwop.runtime]\nkind = "${kind}"`)).toEqual(
      needed.map((key) => `openwop.runtime.${key}: is required by kind = "${kind}"`),
    );
  });

  it("knows an origin by its scheme, host and port", () => {
    const written = (value: string): string => `${MINIMAL}[gateway]\ncors_origins = ["${value}"]`;
    for (const origin of ["https://app.example", "http://localhost:3000", "http://[::1]:3000"]) {
      expect(problemsOf(written(origin))).toEqual([]);
    }
    for (const other of ["*", "https://app.example/", "app.example", "https://App.example"]) {
      expect(problemsOf(written(other)).length).toBe(1);
    }
  });
});

describe("loadConfig, for the files that a configuration names", () => {
  it("wants both a certificate and its key, readable", () => {
    expect(problemsOf(`${MINIMAL}[tls]\ncert = "cert.pem"`, { "cert.pem": "" })).toEqual([
      "tls.key: is required beside cert",
    ]);
    expect(problemsOf(`${MINIMAL}[gateway]\nkey = "key.pem"`, { "key.pem": "" })).toEqual([
      "gateway.cert: is required beside key",
    ]);
    const missing = load(`${MINIMAL}[tls]\ncert = "cert.pem"\nkey = "key.pem"`).problems;
    expect(missing.map(({ key, message }) => [key, message.replace(/^".*" /, "")])).toEqual([
      ["tls.cert", "does not exist"],
      ["tls.key", "does not exist"],
    ]);
  });

  it("wants a catalog, and a directory of handlers", () => {
    const { problems } = load(`${MINIMAL}[catalog]\nfile = "none.json"\n[handlers]\nroot = "h"`, {
      h: "",
    });
    expect(problems.map(({ key, message }) => [key, message.replace(/^".*" /, "")])).toEqual([
      ["catalog.file", "does not exist"],
      ["handlers.root", "must be a directory"],
    ]);
  });

  it("takes a catalog that is there and cannot be read for none that is absent", () => {
    const directory = makeDirectory({ "agtp-server.toml": MINIMAL });
    const config = join(directory, "agtp-server.toml");
    expect(loadConfig(config, {}).problems).toMatchObject([{ severity: "warning" }]);
    mkdirSync(join(directory, "catalog"));
    symlinkSync("methods.json", join(directory, "catalog/methods.json"));
    const { problems } = loadConfig(config, {});
    expect(written(problems)).toEqual([expect.stringContaining("is a loop of symbolic links")]);
    expect(problems[0]?.severity).toBeUndefined();
  });

  it("says how the very key that is named is made, from wherever that is read", () => {
    const toml = `${MINIMAL}[signing]\nkey = "keys/signing.pem"`;
    const directory = makeDirectory({ "agtp-server.toml": toml });
    const { problems } = loadConfig(join(directory, "agtp-server.toml"), {});
    const hint = `agtp-keys signing --out ${join(directory, "keys/signing.pem")} makes one`;
    expect(problems).toContainEqual(expect.objectContaining({ key: "signing.key", hint }));
  });

  it("wants a signing key that is named to be an Ed25519 key", () => {
    const toml = `${MINIMAL}[signing]\nkey = "signing.pem"`;
    expect(problemsOf(toml)).toEqual([expect.stringContaining("does not exist")]);
    expect(problemsOf(toml, { "signing.pem": makeKey("x25519") })).toEqual([
      expect.stringContaining("must be an Ed25519 private key"),
    ]);
    expect(problemsOf(toml, { "signing.pem": makeKey("ed25519") })).toEqual([]);
  });

  // Root may read everything.
  it.runIf(process.getuid?.() === 0)("asks for a key's owner where it may not read it", () => {
    const directory = makeDirectory({
      "agtp-server.toml": `${MINIMAL}[signing]\nkey = "signing.pem"`,
      "signing.pem": makeKey("ed25519"),
    });
    chmodSync(directory, 0o755);
    chmodSync(join(directory, "signing.pem"), 0o600);
    process.seteuid?.(65_534);
    onTestFinished(() => process.seteuid?.(0));
    const { problems } = loadConfig(join(directory, "agtp-server.toml"), {});
    expect(problems.find(({ key }) => key === "signing.key")).toMatchObject({
      message: expect.stringContaining("permission denied"),
      hint: expect.stringContaining("the user that agtpd runs as"),
    });
  });
});

function loadRetention(retention: object, tables: Readonly<Record<string, object>> = {}) {
  const directory = makeDirectory({
    "agtp-server.toml": configFile({ attribution: { retention }, ...tables }),
    file: "",
  });
  return { directory, ...loadConfig(join(directory, "agtp-server.toml"), {}) };
}

const retentionProblems = (...args: Parameters<typeof loadRetention>): readonly string[] =>
  loadRetention(...args)
    .problems.filter(({ severity }) => severity !== "warning")
    .map(({ key }) => key);

// AGTP-IDENTIFIERS "Audit Log"
describe("[attribution.retention]", () => {
  it("bounds the journal by age, by size, or by both", () => {
    const { config, directory } = loadRetention({ days: 90, bytes: 2 ** 30, archive: "old" });
    expect(config?.attribution.retention).toEqual({
      ...{ days: 90, bytes: 2 ** 30, archive: join(directory, "old") },
    });
    expect(retentionProblems({ days: 1 })).toEqual([]);
    expect(loadRetention({}, { attribution: {} }).config?.attribution.retention).toBeUndefined();
  });

  it.each([
    ["attribution.retention", { archive: "old" }],
    ["attribution.retention.days", { days: 0 }],
    ["attribution.retention.bytes", { bytes: 1024 }],
    ["attribution.retention.archive", { days: 1, archive: ".agtp/journal" }],
    ["attribution.retention.archive", { days: 1, archive: ".agtp/journal/old" }],
    ["attribution.retention.archive", { days: 1, archive: "file" }],
  ])("is refused at %s for %j", (key, retention) => {
    expect(retentionProblems(retention)).toEqual([key]);
  });

  it("is refused where nobody can look into the archive", () => {
    const directory = makeDirectory();
    const archive = join(directory, "loop");
    symlinkSync(archive, archive);
    const { problems } = loadRetention({ days: 1, archive });
    expect(problems).toContainEqual(
      expect.objectContaining({
        key: "attribution.retention.archive",
        message: `"${archive}" is a loop of symbolic links`,
      }),
    );
  });

  it("is for a database of records as well", () => {
    const store = { driver: "postgres", url: "postgres://localhost/agtp" };
    expect(retentionProblems({ days: 1 }, { store })).toEqual([]);
  });
});

const KEY = serverKey(51);
const PEER = { name: "annex", server_id: "annex.example", public_key: KEY.text };

function peerProblems(peers: readonly object[], tables: Readonly<Record<string, object>> = {}) {
  const signing = { key: "signing.pem" };
  const directory = makeDirectory({
    "agtp-server.toml": configFile({ peers, signing, ...tables }),
    "signing.pem": KEY.privatePem,
    "cert.pem": "x",
  });
  const { problems } = loadConfig(join(directory, "agtp-server.toml"), {});
  return problems.filter(({ severity }) => severity !== "warning").map(({ key }) => key);
}

// AGTP "DELEGATE"
describe("[[peers]]", () => {
  it("are servers that tasks come from, and go to where they have a URI", () => {
    const reachable = {
      uri: "agtp://annex.example:4480",
      scopes: ["booking:*"],
      agents: ["porter"],
    };
    expect(peerProblems([PEER, { ...PEER, ...reachable, name: "b", server_id: "b" }])).toEqual([]);
  });

  it("are told apart, from one another and from this server", () => {
    expect(peerProblems([PEER, PEER])).toEqual(["peers[1].name", "peers[1].server_id"]);
    expect(peerProblems([{ ...PEER, server_id: "test" }])).toEqual(["peers[0].server_id"]);
  });

  it("need signatures and records on our side", () => {
    expect(peerProblems([PEER], { signing: {} })).toEqual(["signing.key"]);
    expect(peerProblems([PEER], { attribution: { enabled: false } })).toEqual([
      "attribution.enabled",
    ]);
  });

  it.each([
    ["name", { name: "a b" }],
    ["public_key", { public_key: "x" }],
    ["uri", { uri: "https://annex.example" }],
    ["uri", { uri: "agtp://annex.example/agents/x" }],
    ["fingerprint", { fingerprint: "ab" }],
    ["key", { cert: "cert.pem" }],
    ["ca", { ca: "missing.pem" }],
    ["max_connections", { max_connections: 0 }],
    ["scopes[0]", { scopes: ["room"] }],
    ["portt", { portt: 1 }],
  ])("are refused for their %s", (key, changes) => {
    expect(peerProblems([{ ...PEER, ...changes }])).toEqual([`peers[0].${key}`]);
  });
});

const OIDC = { issuer: "https://login.example", client_id: "agtpd", operators: ["managers"] };

function loadConsole(oidc: object | undefined, more: object = {}) {
  const section = { enabled: true, ...(oidc && { oidc }), ...more };
  const directory = makeDirectory({
    "agtp-server.toml": configFile({ console: section }),
    ...{ "cert.pem": "", "key.pem": "" },
  });
  const { config, problems } = loadConfig(join(directory, "agtp-server.toml"), { SECRET: "hush" });
  return { config, problems: problems.filter(({ key }) => key.startsWith("console")) };
}

describe("[console] base_url", () => {
  const pair = { cert: "cert.pem", key: "key.pem" };

  it.each([
    ["https://console.hotel.example", {}],
    ["https://Console.hotel.example:8443/", {}],
    ["http://[::1]:4490", {}],
    ["https://console.hotel.example", pair],
  ])("is a place of its own: %s", (base_url, more) => {
    expect(loadConsole(undefined, { base_url, ...more }).problems).toEqual([]);
  });

  // Pages, links and cookies are those of the root, and a browser that has a certificate before it says https.
  it.each([
    ["https://hotel.example/console", {}],
    ["https://hotel.example?", {}],
    ["https://nina@hotel.example", {}],
    ["https://:x", {}],
    ["https://hotel.example:70000", {}],
    ["http://console.hotel.example", pair],
  ])("is refused where nobody could sign in: %s", (base_url, more) => {
    const { problems } = loadConsole(undefined, { base_url, ...more });
    expect(problems.map(({ key }) => key)).toEqual(["console.base_url"]);
  });
});

describe("[console.oidc]", () => {
  it("is a provider, and the people who may come in", () => {
    const { config, problems } = loadConsole({
      ...OIDC,
      client_secret: ["$", "{SECRET}"].join(""),
    });
    expect(problems).toEqual([]);
    expect(config?.console.oidc).toEqual({
      ...{ issuer: "https://login.example", clientId: "agtpd", clientSecret: "hush" },
      ...{ scope: "openid profile email", roleClaim: "groups" },
      ...{ viewers: [], operators: ["managers"] },
    });
  });

  it.each([
    ["issuer", { issuer: "http://login.example" }],
    ["issuer", { issuer: "https://login.example/?tenant=1" }],
    ["issuer", { issuer: "https://:x" }],
    ["client_id", { client_id: "" }],
    ["client_secret", { client_secret: "" }],
    ["scope", { scope: "profile email" }],
    ["role_claim", { role_claim: "" }],
    ["operators", { operators: [] }],
    ["operators[0]", { operators: [1] }],
    ["viewers", { viewers: "night-desk" }],
    ["ca", { ca: "missing.pem" }],
    ["realm", { realm: "x" }],
  ])("is refused for its %s", (key, changes) => {
    const { problems } = loadConsole({ ...OIDC, ...changes });
    expect(problems.map((one) => [one.file, one.key])).toEqual([
      ["agtp-server.toml", `console.oidc.${key}`],
    ]);
  });

  it("tells of all that is wrong at once, and of a value in both lists", () => {
    const { problems } = loadConsole({
      ...OIDC,
      scope: "email",
      viewers: ["managers"],
      ca: "no.pem",
    });
    expect(problems.map(({ key, severity = "error" }) => [key, severity])).toEqual(
      expect.arrayContaining([
        ["console.oidc.scope", "error"],
        ["console.oidc.ca", "error"],
        ["console.oidc.viewers[0]", "warning"],
      ]),
    );
    expect(
      loadConsole({ issuer: 1 })
        .problems.map(({ key }) => key)
        .sort(),
    ).toEqual(["console.oidc.client_id", "console.oidc.issuer"]);
  });
});
