/** `agtpd init --from`: a configuration of the reference implementation in our words. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkDeployment } from "../../../src/app/daemon.ts";
import { createLog } from "../../../src/base/log.ts";
import { isError } from "../../../src/base/problem.ts";
import { parseToml } from "../../../src/base/toml-document.ts";
import { makeAgentCa } from "../../../src/identity/certificate-authority.ts";
import { initCommand } from "../../../src/programs/init/command.ts";
import { translateReference } from "../../../src/programs/init/translate-reference.ts";
import { type Files, makeDirectory } from "../../support/directory.ts";
import { runIn } from "../../support/terminal.ts";

/** Every section that the reference knows, with a value that is not its default. */
const REFERENCE = `
[server]
server_id = "agents.acme.example"
operator = "Acme \${Retail}"
contact = "ops@acme.example"
issued = "2026-01-01"

[policies]
wildcards_accepted = true
anonymous_discovery = false
negotiable = true
[policies.methods]
allow = ["QUERY", "BOOK"]
legacy = ["GET"]
[[policies.methods.redirects]]
from_method = "BOOK"
from_path = "/room"
to_method = "RESERVE"
to_path = "/room"
[policies.methods.aliases]
GET = "FETCH"
[policies.rcns]
enabled = true
min_trust_tier = 2
max_negotiations_per_minute = 5
state_backend = "sqlite"

[agents]
disclosure = "authenticated"

[synthesis]
policies = ["recipes"]
recipes_file = "recipes.toml"
session_duration = "12h"
persistent_default_duration = "7d"
max_evaluation_duration = "10m"
async_evaluation_enabled = true

[audit]
path = "stderr"
attribution_records_enabled = true
read_acl = "public"

[gateway]
socket = ""

[signing]
enabled = true
key_path = "/etc/agtpd/signing.pem"

[mtls]
mode = "disabled"
ca_bundle_path = ""
require_agent_id_match = true

[[apis]]
path = "/calendar"
methods = ["QUERY"]
`;

const RECIPES = `
[[recipe]]
name = "look"
description = "Look."
[recipe.pattern]
name_exact = "INSPECT"
[[recipe.steps]]
method = "DISCOVER"
capture_as = "found"
[recipe.aggregation]
mode = "list"
`;

/** A file with the keys, and the values by default, of the sample that comes with the reference. */
const DEMO = `
[server]
server_id = "agents.inn.example"
operator = "The inn"
contact = "desk@inn.example"

[policies]
wildcards_accepted = true
anonymous_discovery = true
scope_required_for_invocation = true
synthesis_enabled = true
max_synthesis_depth = 10
[policies.methods]
allow = "*"

[agents]
disclosure = "public"

[synthesis]
policies = ["recipes"]
recipes_file = "agtp-recipes.toml"
session_duration = "24h"
persistent_default_duration = "7d"
persistent_max_duration = "30d"
async_evaluation_enabled = false
max_evaluation_duration = "10m"

[audit]
path = "stderr"
attribution_records_enabled = false

[gateway]
socket = ""

[signing]
enabled = false
key_path = ""
key_id = ""

[mtls]
mode = "disabled"
ca_bundle_path = ""
require_agent_id_match = true

[[apis]]
path = "/rooms"
methods = ["QUERY", "BOOK"]
description = "Rooms of the inn."

[[hosted_protocols]]
protocol = "openapi"
version = "3.1"
endpoint = "https://inn.example"
catalog = "https://inn.example/openapi.json"
`;

async function initFrom(files: Files, ...more: readonly string[]) {
  const cwd = makeDirectory({ "old/agtp-server.toml": REFERENCE, ...files });
  const args = ["shop", "--from", "old/agtp-server.toml", ...more];
  const { exitCode, out, err } = await runIn(cwd, initCommand(), args);
  const read = (name: string) => readFileSync(join(cwd, "shop", name), "utf8");
  return { exitCode, out, err, cwd, read };
}

describe("agtpd init --from", () => {
  it("makes a deployment that is valid, and lists what could not be translated", async () => {
    const { exitCode, out, cwd, read } = await initFrom({ "old/recipes.toml": RECIPES });
    expect(exitCode).toBe(0);
    const { table } = parseToml(read("agtp-server.toml"));
    expect(table).toMatchObject({
      server: { server_id: "agents.acme.example", operator: "Acme $${Retail}", port: 4480 },
      policies: {
        anonymous_discovery: false,
        methods: { allow: ["QUERY", "BOOK"], legacy: ["GET"], aliases: { GET: "FETCH" } },
        rcns: { enabled: true, min_trust_tier: 2, rate_limit_per_minute: 5 },
        identity: { inspect_acl: "public" },
      },
      agents: { disclosure: "authenticated" },
      synthesis: {
        session_ttl_seconds: 43_200,
        persistent_default_seconds: 604_800,
        async_evaluation: true,
      },
      attribution: { enabled: true },
      tls: { client_auth: "none" },
      signing: { key: ".agtp/keys/signing.pem" },
    });
    const listed = [...out.matchAll(/^ {2}([a-z_.]+): /gm)].map(([, key]) => key);
    expect(listed.toSorted()).toEqual([
      ...["apis", "policies.negotiable", "policies.rcns.state_backend", "server.issued"],
      ...["signing.key_path", "synthesis.max_evaluation_duration"],
    ]);
    expect(read("recipes/recipes.toml")).toContain(RECIPES);
    const log = createLog("silent", { write: () => undefined, flush: () => Promise.resolve() });
    const configPath = join(cwd, "shop/agtp-server.toml");
    const problems = await checkDeployment({ configPath, env: {}, log });
    expect(problems.filter(isError)).toEqual([]);
  });

  it("knows every key of the sample that the reference comes with, and writes down what is left", async () => {
    const files = { "old/agtp-server.toml": DEMO, "old/agtp-recipes.toml": RECIPES };
    const { exitCode, out, cwd, read } = await initFrom(files);
    expect(exitCode).toBe(0);
    const losses = [...out.matchAll(/^ {2}([a-z_.]+): (.+)$/gm)].map(([, key, why]) => [key, why]);
    expect(losses.map(([key]) => key)).toEqual([
      ...["synthesis.max_evaluation_duration", "signing.enabled", "apis", "hosted_protocols"],
    ]);
    const readme = read("README.md");
    for (const [key, why] of losses) expect(readme).toContain(`- \`${key}\`: ${why}\n`);
    expect(readme).toContain("agtp-keys genesis --name guide");
    const { table } = parseToml(read("agtp-server.toml"));
    expect(table).toMatchObject({
      policies: { wildcards_accepted: true, synthesis_enabled: true, max_synthesis_depth: 10 },
      synthesis: { persistent_max_seconds: 2_592_000, async_evaluation: false },
      attribution: { enabled: false },
    });
    const log = createLog("silent", { write: () => undefined, flush: () => Promise.resolve() });
    const configPath = join(cwd, "shop/agtp-server.toml");
    const problems = await checkDeployment({ configPath, env: {}, log });
    expect(problems.filter(isError)).toEqual([]);
  });

  it("finds recipes wherever the file says that they are", async () => {
    const recipes = join(makeDirectory({ "r.toml": RECIPES }), "r.toml");
    const { read } = await initFrom({
      "old/agtp-server.toml": REFERENCE.replace("recipes.toml", recipes),
    });
    expect(read("recipes/recipes.toml")).toContain(RECIPES);
  });

  it("takes the authorities of agents' certificates along, and asks for such a certificate", async () => {
    const ca = makeAgentCa({ name: "agents", days: 30 });
    if ("fault" in ca) throw new Error(ca.fault);
    const mtls = REFERENCE.replace('mode = "disabled"', 'mode = "required"');
    const { exitCode, out, cwd, read } = await initFrom({
      "old/agtp-server.toml": mtls.replace('bundle_path = ""', 'bundle_path = "../ca.pem"'),
      "old/recipes.toml": RECIPES,
      "ca.pem": ca.certificate,
    });
    expect([exitCode, out]).toEqual([0, expect.not.stringContaining("mtls.")]);
    const { table } = parseToml(read("agtp-server.toml"));
    const tls = { client_auth: "required", client_ca: "tls/agents-ca.pem" };
    expect([table?.["tls"], read("tls/agents-ca.pem")]).toEqual([tls, ca.certificate]);
    const log = createLog("silent", { write: () => undefined, flush: () => Promise.resolve() });
    const configPath = join(cwd, "shop/agtp-server.toml");
    const problems = await checkDeployment({ configPath, env: {}, log });
    expect(problems.filter(isError)).toEqual([]);
  });

  it.each(["none.pem", "recipes.toml"])("says that %s has no authorities to take along", (path) => {
    const text = `[mtls]\nmode = "optional"\nca_bundle_path = "${path}"\n`;
    const read = (named: string) => (named === "recipes.toml" ? RECIPES : undefined);
    const translated = translateReference(text, read);
    expect(translated).toMatchObject({
      losses: [{ key: "mtls.ca_bundle_path", reason: expect.stringMatching(/ cannot be read: /) }],
      ...{ tables: { tls: { client_auth: "optional" } }, files: {} },
    });
  });

  it("says where the recipes could not be read, and answers in JSON", async () => {
    const { exitCode, out } = await initFrom({}, "--json");
    expect(exitCode).toBe(0);
    const { not_translated: losses } = JSON.parse(out);
    expect(losses).toContainEqual({
      key: "synthesis.recipes_file",
      reason: '"recipes.toml" cannot be read: put its recipes into recipes/',
    });
  });

  it.each([
    ['[server]\nserver_id = "x"\n', "is not the agtp-server.toml of the reference"],
    ["[server\n", "is not TOML"],
  ])("refuses %j, and makes nothing", async (text, message) => {
    const { exitCode, err } = await initFrom({ "old/agtp-server.toml": text });
    expect([exitCode, err]).toEqual([2, expect.stringContaining(message)]);
  });

  it("tells of keys that nobody knows, and of durations that are none", () => {
    const text = '[audit]\npath = "stderr"\nloud = true\n[synthesis]\nsession_duration = "soon"\n';
    expect(translateReference(text, () => undefined)).toMatchObject({
      losses: [
        { key: "audit.loud", reason: "is not known" },
        { key: "synthesis.session_duration", reason: expect.stringContaining("is no duration") },
      ],
    });
  });
});
