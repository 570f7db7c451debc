/** Typical mistakes: what is told of each names the file, the key or flag, and the way out. */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { agtpProgram } from "../src/programs/agtp/command.ts";
import { initCommand } from "../src/programs/init/command.ts";
import { keysProgram } from "../src/programs/keys/command.ts";
import { runProgram } from "./support/agtpd.ts";
import { makeCertificate } from "./support/certificate.ts";
import { agentFile, type DeploymentFiles, makeDeployment } from "./support/deployment.ts";
import { makeDirectory } from "./support/directory.ts";
import {
  certified,
  checkWith,
  config,
  endpoint,
  external,
  UPSTREAM_ERRORS,
} from "./support/mistakes.ts";
import { listen } from "./support/port.ts";
import { runIn } from "./support/terminal.ts";

/** What was done, the beginning of the line (file and key), and what leads on. */
type Mistake = readonly [
  name: string,
  files: DeploymentFiles | (() => Promise<DeploymentFiles>),
  place: string,
  remedy: RegExp,
];

const SERVER = "agtp-server.toml: ";
const ENDPOINT = "endpoints/book.toml: ";
/** A variable that nobody has set. */
const VARIABLE = "$" + "{OPERATOR}";
const WEEK_MS = 7 * 86_400_000;

const MISTAKES: readonly Mistake[] = [
  ["a key is misspelt", config({ server: { prot: 1 } }), `${SERVER}server.prot`, /"port"/],
  ["a section is misspelt", config({ polices: {} }), `${SERVER}polices`, /"policies"/],
  [
    "server_id is left out",
    { "agtp-server.toml": "[server]\nport = 0\n" },
    `${SERVER}server.server_id`,
    /is required/,
  ],
  [
    "the port is a text",
    config({ server: { port: "4480" } }),
    `${SERVER}server.port`,
    /must be an integer.*without quotes/,
  ],
  [
    "a switch is a text",
    config({ policies: { anonymous_discovery: "false" } }),
    `${SERVER}policies.anonymous_discovery`,
    /without quotes/,
  ],
  [
    "a key is there twice",
    { "agtp-server.toml": '[server]\nserver_id = "x"\nport = 1\nport = 2\n' },
    SERVER,
    /line 4.*at port/,
  ],
  [
    "one table stands where there may be several",
    config({ apis: { name: "orders" } }),
    `${SERVER}apis`,
    /must be a list.*\[\[apis\]\]/,
  ],
  [
    "a word is none of those",
    config({ agents: { disclosure: "publik" } }),
    `${SERVER}agents.disclosure`,
    /public/,
  ],
  [
    "a variable is not set",
    config({ server: { operator: VARIABLE } }),
    `${SERVER}server.operator`,
    /OPERATOR.*\.env/,
  ],
  [
    "a variable of an upstream is not set",
    external({ headers: { Authorization: `Bearer ${VARIABLE}` } }),
    `${ENDPOINT}endpoint.handler.headers.Authorization`,
    /OPERATOR.*\.env/,
  ],
  ["the file is no TOML", { "agtp-server.toml": "[server\n" }, SERVER, /line 1/],
  [
    "it listens to all without a certificate",
    config({ server: { host: "0.0.0.0" } }),
    `${SERVER}tls`,
    /cert/,
  ],
  [
    "Agent-IDs are believed beyond loopback",
    config({ server: { host: "0.0.0.0" } }),
    `${SERVER}policies.identity.assurance`,
    /certificate|allow_unverified_identity/,
  ],
  [
    "the certificate has no key",
    config({ tls: { cert: "tls/cert.pem" } }),
    `${SERVER}tls.key`,
    /key/,
  ],
  [
    "the certificate is not there",
    config({ tls: { cert: "tls/cert.pem", key: "tls/key.pem" } }),
    `${SERVER}tls.cert`,
    /relative paths/,
  ],
  [
    "the certificate has expired",
    async () =>
      certified(
        await makeCertificate({
          notBefore: new Date(Date.now() - 2 * WEEK_MS),
          notAfter: new Date(Date.now() - WEEK_MS),
        }),
      ),
    "tls/cert.pem: ",
    /issued anew/,
  ],
  [
    "the key is another's",
    async () =>
      certified({ cert: (await makeCertificate()).cert, key: (await makeCertificate()).key }),
    "tls/key.pem: ",
    /in key, beside cert/,
  ],
  [
    "agents need certificates of nobody",
    config({ tls: { client_auth: "required" } }),
    `${SERVER}tls.client_ca`,
    /agtp-keys agent-ca/,
  ],
  [
    "the signing key is not there",
    config({ signing: { key: "keys/signing.pem" } }),
    `${SERVER}signing.key`,
    /agtp-keys signing/,
  ],
  [
    "the signing key is something else",
    { ...config({ signing: { key: "signing.pem" } }), "signing.pem": "hello\n" },
    `${SERVER}signing.key`,
    /Ed25519.*agtp-keys signing/,
  ],
  [
    "the catalog is not there",
    config({ catalog: { file: "methods.json" } }),
    `${SERVER}catalog.file`,
    /relative paths/,
  ],
  [
    "the sidecar speaks as nobody",
    config({ gateway: { enabled: true, port: 0, agent: "nobody" } }),
    `${SERVER}gateway.agent`,
    /agent/,
  ],
  ["MCP has no listener", config({ mcp: { enabled: true } }), `${SERVER}mcp`, /gateway/],
  [
    "MCP does not know who asks",
    config({ gateway: { enabled: true, port: 0 }, mcp: { enabled: true } }),
    `${SERVER}mcp.anonymous`,
    /oauth/,
  ],
  [
    "a program is not there",
    config({ processes: [{ name: "p", command: ["no-such-program"] }] } as never),
    `${SERVER}processes`,
    /no-such-program/,
  ],
  ["the method is misspelt", endpoint({ method: "BOOOK" }), `${ENDPOINT}endpoint.method`, /BOOK/],
  [
    "the path has a method's name",
    endpoint({ path: "/book/{room}" }),
    `${ENDPOINT}endpoint.path`,
    /request line/,
  ],
  [
    "the path has a parameter that no field is",
    endpoint({ path: "/rooms/{rom}" }),
    ENDPOINT,
    /rom/,
  ],
  [
    "a parameter is written as other frameworks have it",
    endpoint({ path: "/rooms/:room" }),
    `${ENDPOINT}endpoint.path`,
    /":room" is no parameter.*\{room\}/,
  ],
  [
    "a key of an endpoint is misspelt",
    endpoint({ requires_scopes: [] }),
    `${ENDPOINT}endpoint.requires_scopes`,
    /required_scopes/,
  ],
  [
    "the impact is none",
    endpoint({
      semantic: {
        intent: "x y z.",
        actor: "agent",
        outcome: "x.",
        capability: "transaction",
        confidence: 1,
        impact: "huge",
        is_idempotent: true,
      },
    }),
    `${ENDPOINT}endpoint.semantic.impact`,
    /irreversible/,
  ],
  [
    "the module is not there",
    endpoint({ handler: { type: "registered_function", function: "endpoints.room.book" } }),
    `${ENDPOINT}endpoint.handler.function`,
    /endpoints\/room/,
  ],
  [
    "the function is not there",
    endpoint({ handler: { type: "registered_function", function: "endpoints.rooms.boook" } }),
    `${ENDPOINT}endpoint.handler.function`,
    /book/,
  ],
  [
    "the module exports another way",
    { "endpoints/rooms.mjs": "export default () => ({ body: {} });\n" },
    `${ENDPOINT}endpoint.handler.function`,
    /exports default.*export const book =/,
  ],
  [
    "the module exports no function",
    { "endpoints/rooms.mjs": "export const rooms = 12;\n" },
    `${ENDPOINT}endpoint.handler.function`,
    /exports no function.*export const book =/,
  ],
  [
    "the module does not load",
    { "endpoints/rooms.mjs": "export const book = (\n" },
    `${ENDPOINT}endpoint.handler.function`,
    /rooms\.mjs/,
  ],
  [
    "the upstream is plain HTTP",
    external({ url: "http://api.example/rooms/{room}" }),
    `${ENDPOINT}endpoint.handler.url`,
    /TLS in front.*handler/,
  ],
  [
    "an upstream's errors are not declared",
    endpoint({
      handler: { type: "external_service", url: "https://api.example/{room}", method: "GET" },
    }),
    `${ENDPOINT}endpoint.errors`,
    /upstream_/,
  ],
  [
    "an error is mapped and not declared",
    external({ error_map: { 404: "gone" } }),
    `${ENDPOINT}endpoint.handler.error_map`,
    /errors/,
  ],
  [
    "the recipe is not there",
    endpoint({ errors: ["composition_failed"], handler: { type: "composition", recipe: "stay" } }),
    `${ENDPOINT}endpoint.handler.recipe`,
    /recipe/,
  ],
  [
    "two files have one pair",
    { ...endpoint({}), "endpoints/again.toml": endpoint({})["endpoints/book.toml"] ?? "" },
    "endpoints/",
    /book\.toml|again\.toml/,
  ],
  ["an agent's document is no JSON", { "agents/x.agent.json": "{" }, "agents/x.agent.json", /JSON/],
  [
    "two agents have one id",
    { "agents/x.agent.json": agentFile({ agent_id: "a".repeat(64), name: "x" }) },
    "agents/",
    /guide|x\.agent/,
  ],
];

describe("a typical mistake", () => {
  it.each(MISTAKES)("%s", async (_, given, place, remedy) => {
    const lines = await checkWith(typeof given === "function" ? await given() : given);
    const line = lines.find((one) => one.startsWith(place));
    expect(line, lines.join("\n")).toBeDefined();
    expect(line).toMatch(remedy);
  });
});

describe("mistakes of one file", () => {
  it("are told once: a place of keys that is refused is not a missing one", async () => {
    const oauth = { issuer: "https://id.example", jwks_uri: "http://id.example/jwks" };
    const lines = await checkWith(config({ policies: { oauth } }));
    expect(lines).toEqual([
      expect.stringContaining("policies.oauth.jwks_uri: must be an https URL"),
    ]);
  });

  it("are told at once, of its fields, its schemas and its handler", async () => {
    const semantic = { intent: "x", actor: "agent", outcome: "x", capability: "retrieval" };
    const lines = await checkWith(
      endpoint({
        semantic: { ...semantic, confidence: 95, impact: "informational", is_idempotent: true },
        properties: { room: { type: "string", minLength: "1" } },
        output_schema: { type: "objekt" },
        handler: { type: "registered_function", function: "endpoints.rooms.boook" },
      }),
    );
    expect(lines).toEqual([
      expect.stringMatching(/semantic\.confidence: is 95/),
      expect.stringMatching(/input_schema\.properties\.room\.minLength: is "1"/),
      expect.stringMatching(/output_schema\.type: is "objekt"/),
      expect.stringMatching(/handler\.function: .*"boook".*did you mean book/),
    ]);
  });

  it.each([
    [
      { errors: ["composition_failed"], handler: { type: "composition", recipe: "stay" } },
      /handler\.recipe: no recipe "stay"/,
    ],
    [
      {
        errors: [...UPSTREAM_ERRORS, "upstream_definition_changed"],
        handler: {
          ...{ type: "mcp_tool", server: "desk", tool: "book" },
          definition: `sha256:${"0".repeat(64)}`,
        },
      },
      /handler\.server: no \[\[mcp\.servers\]\] has the name "desk"/,
    ],
  ])("are told at once, of whatever the handler names: %#", async (handler, told) => {
    const lines = await checkWith(endpoint({ ...handler, description: 7 }));
    expect(lines).toEqual([
      expect.stringMatching(/endpoint\.description: is 7/),
      expect.stringMatching(told),
    ]);
  });
});

describe("a typical mistake at the command line", () => {
  const command = (args: readonly string[], files: DeploymentFiles = {}) =>
    runProgram({ args, cwd: makeDirectory(files) });

  it.each([
    ["there is no configuration", [], /agtp-server\.toml[\s\S]*agtpd init/],
    ["a command is misspelt", ["initt", "shop"], /did you mean init/i],
    ["a flag is misspelt", ["--prot", "1"], /--port/],
    ["the port is none", ["--port", "99999"], /--port/],
    ["init has no directory", ["init"], /dir/],
    ["a schema is misspelt", ["schema", "sever"], /server/],
  ])("%s", async (_, args, remedy) => {
    const { code, stderr } = await command(args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(remedy)]);
  });

  it("the port is taken", async () => {
    const server = createServer();
    const port = await listen(server);
    onTestFinished(() => void server.close());
    const { configPath } = makeDeployment(config({ server: { port } }));
    const { code, stdout, stderr } = await command(["--config", configPath]);
    expect(code).toBe(1);
    expect(stdout + stderr).toMatch(/server\.port[\s\S]*--port N/);
  });
});

describe("a typical mistake with the keys", () => {
  it("no daemon has written a record yet", async () => {
    const args = ["verify", "--chain", ".agtp/journal", "--agent", "a".repeat(64)];
    const { exitCode, err } = await runIn(makeDirectory(), keysProgram, args);
    expect([exitCode, err]).toEqual([
      2,
      expect.stringMatching(/\.agtp\/journal.*when it is started/),
    ]);
  });

  it("somebody gives an agent scopes by an editor", async () => {
    const directory = makeDirectory();
    const made = await runIn(directory, initCommand(), ["shop", "--yes"]);
    expect(made.exitCode).toBe(0);
    const file = join(directory, "shop/agents/guide.agent.json");
    writeFileSync(file, readFileSync(file, "utf8").replace("items:read", "items:all"));
    const configPath = join(directory, "shop/agtp-server.toml");
    const { stdout } = await runProgram({ args: ["--config", configPath, "--check"] });
    expect(stdout).toMatch(/guide\.agent\.json: manifest_signature.*agtp-keys genesis --force/);
  });
});

describe("a typical mistake with the client", () => {
  it.each([
    ["nobody listens", ["agtp://127.0.0.1:1"], /127\.0\.0\.1[\s\S]*agtpd starts a daemon/],
    ["the method is left out", ["agtp://localhost", "/items/tea"], /QUERY \/items\/tea/],
    ["the address is none", ["http://localhost"], /agtp:\/\//],
    ["the input is no JSON", ["agtp://localhost", "QUERY", "/x", "-d", "{x}"], /JSON/],
    ["the key of a certificate is left out", ["agtp://localhost", "--cert", "c.pem"], /--key/],
    [
      "the certificate is not there",
      ["agtp://localhost", "--cert", "c.pem", "--key", "k"],
      /c\.pem/,
    ],
  ])("%s", async (_, args, remedy) => {
    const { exitCode, err } = await runIn(makeDirectory(), agtpProgram, args);
    expect([exitCode, err]).toEqual([2, expect.stringMatching(remedy)]);
  });
});
