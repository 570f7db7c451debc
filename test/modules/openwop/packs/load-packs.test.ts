/** Agent packs: what is installed, what is refused, and that nothing leads out of a pack. */
import { generateKeyPairSync, sign } from "node:crypto";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../../../src/base/problem.ts";
import { publicKeyOf } from "../../../../src/identity/ed25519.ts";
import type { InstalledPack } from "../../../../src/modules/openwop/installed-agent.ts";
import { type LoadedPacks, loadPacks } from "../../../../src/modules/openwop/packs/load-packs.ts";
import {
  Capabilities,
  resolvingDependencies,
} from "../../../../src/modules/openwop/packs/peer-capabilities.ts";
import type { PackRules } from "../../../../src/modules/openwop/packs/read-pack.ts";
import { cpuMs } from "../../../support/cpu-time.ts";
import { makeDirectory } from "../../../support/directory.ts";
import {
  type AgentFields,
  type PackFields,
  packFile,
  packFiles,
} from "../../../support/openwop.ts";

const FIXTURE = join(import.meta.dirname, "../../../exchanges/deployment");

interface LoadOptions extends Partial<PackRules> {
  readonly installScope?: "host" | "tenant";
  readonly packsDir?: string;
  readonly satisfied?: readonly string[];
}

function load(directory: string, options: LoadOptions = {}): LoadedPacks {
  const { installScope = "host", packsDir = "agents/openwop", satisfied = [], ...rules } = options;
  return loadPacks(
    { directory, packsDir: join(directory, packsDir), installScope },
    {
      capabilities: new Capabilities(satisfied),
      signatures: { trustedKeys: new Map(), isRequired: false },
      modelFault: () => undefined,
      ...rules,
    },
  );
}

/** Loads one pack with one agent. */
function loadOne(agent: AgentFields, files: Readonly<Record<string, string>> = {}) {
  const directory = makeDirectory(packFiles({ agents: [agent] }, files));
  return { directory, ...load(directory) };
}

const messages = ({ problems }: Pick<LoadedPacks, "problems">): readonly string[] =>
  problems.map(formatProblem);
const agentIds = ({ packs }: Pick<LoadedPacks, "packs">): readonly string[] =>
  packs.flatMap(({ agents }) => agents.map(({ agentId }) => agentId));

describe("the packs of the fixture", () => {
  it("are installed, with prompts and schemas", () => {
    const loaded = load(FIXTURE, { packsDir: "packs" });
    expect(agentIds(loaded)).toEqual([
      "core.harbour.clerk.default",
      "vendor.harbour.crew.captain",
      "vendor.harbour.crew.mate",
      "private.harbour.scout",
      "vendor.harbour.sealed.envoy",
    ]);
    const clerk = loaded.packs[0]?.agents[0];
    expect(clerk?.prompt).toMatch(/^You are the clerk/);
    expect(clerk?.taskSchema?.check({ request: "a room", guest: "Bob" })).toBeUndefined();
    expect(clerk?.taskSchema?.check({ request: "" })).toBeDefined();
    expect(
      clerk?.returnSchema?.check({ urgency: "low", desk: "front", minutes: 5 }),
    ).toBeUndefined();
  });

  // RFC 0072 §C
  it("does without an optional peer, and says so", () => {
    const loaded = load(FIXTURE, { packsDir: "packs" });
    const scout = loaded.packs.find(({ name }) => name === "private.harbour.scout")?.agents[0];
    expect(scout?.degraded).toEqual(["agents.memoryBackends", "host.workspace"]);
  });

  it("is whole where the operator says that there is all it wants", () => {
    const satisfied = ["openwop.agents.memoryBackends", "host.workspace"];
    const loaded = load(FIXTURE, { packsDir: "packs", satisfied });
    const scout = loaded.packs.find(({ name }) => name === "private.harbour.scout")?.agents[0];
    expect(scout?.degraded).toEqual([]);
  });

  it("refuses a pack whose required peer is not there", () => {
    const loaded = load(FIXTURE, { packsDir: "packs-refused" });
    expect(loaded.packs).toEqual([]);
    expect(messages(loaded)).toEqual([
      'packs-refused/oracle/pack.json: peerDependencies: pack_peer_dependency_missing: the pack requires "aiProviders", which this server does not have',
    ]);
    expect(
      agentIds(load(FIXTURE, { packsDir: "packs-refused", satisfied: ["aiProviders"] })),
    ).toEqual(["vendor.harbour.oracle.default"]);
  });
});

// RFC 0003 §E, RFC 0072 §C
describe("a peer dependency", () => {
  const judge = (range: string, satisfied: readonly string[] = [], more: object = {}) => {
    const pack = { peerDependencies: { "openwop.agents.memoryBackends": range }, ...more };
    const loaded = load(makeDirectory(packFiles(pack)), { satisfied });
    return { said: messages(loaded).join("\n"), agent: loaded.packs[0]?.agents[0] };
  };

  it.each<readonly [range: string, satisfied: string]>([
    ["supported", "agents.memoryBackends"],
    ["*", "openwop.agents.memoryBackends"],
    ["optional", "agents.memoryBackends"],
    [">=longTerm", "agents.memoryBackends"],
    [">=conversation", "agents.memoryBackends@longTerm"],
    ["conversation", "agents.memoryBackends@conversation"],
    ["^1.2.0", "agents.memoryBackends@1.4.0"],
    [">=1 <3", "openwop.agents.memoryBackends@2.0.0-rc.1"],
  ])("in %s is met by %s", (range, satisfied) => {
    expect(judge(range, [satisfied]).said).toBe("");
  });

  it.each<readonly [range: string, satisfied: readonly string[], why: string]>([
    ["supported", [], "which this server does not have"],
    [">=longTerm", ["agents.memoryBackends@conversation"], 'this server has "conversation"'],
    ["longTerm", ["agents.memoryBackends@1.0.0"], 'this server has "1.0.0"'],
    ["^2.0.0", ["agents.memoryBackends@1.4.0"], 'in "^2.0.0", and this server has 1.4.0'],
    ["^2.0.0", ["agents.memoryBackends"], '"agents.memoryBackends@VERSION" in openwop.satisfied'],
    ["newest, please", ["agents.memoryBackends"], '"newest, please", which is no range'],
  ])("in %s is refused by name with %j", (range, satisfied, why) => {
    const { said, agent } = judge(range, satisfied);
    expect(said).toContain('pack_peer_dependency_missing: the pack requires "openwop.agents.');
    expect(said).toContain(why);
    expect(agent).toBeUndefined();
  });

  it("that is optional degrades the agents, whether it is absent or too old", () => {
    const meta = {
      peerDependenciesMeta: { "openwop.agents.memoryBackends": { optional: true } },
    };
    for (const satisfied of [[], ["agents.memoryBackends@1.0.0"]]) {
      const { said, agent } = judge("^2.0.0", satisfied, meta);
      expect(said).toBe("");
      expect(agent?.degraded).toEqual(["openwop.agents.memoryBackends"]);
    }
    expect(judge("optional").agent?.degraded).toEqual(["openwop.agents.memoryBackends"]);
  });

  it("on what this host has of itself is one on the version of the protocol", () => {
    const needs = (range: string) =>
      load(makeDirectory(packFiles({ peerDependencies: { "agents.manifestRuntime": range } })));
    expect(messages(needs("^1.0.0"))).toEqual([]);
    expect(messages(needs("^2.0.0"))).toEqual([expect.stringContaining("this server has 1.0.0")]);
  });
});

describe("a dependency on another pack", () => {
  const name = (letter: string): string => `vendor.test.${letter}`;
  const install = (
    packs: Readonly<Record<string, Readonly<Record<string, string>>>>,
    version = "1.4.0",
  ) => {
    const files = Object.entries(packs).map(([letter, dependencies]) => {
      const agents = [{ agentId: `${name(letter)}.agent` }];
      const fields = { name: name(letter), version, dependencies, agents };
      return [`agents/openwop/${letter}/pack.json`, JSON.stringify(packFile(fields))] as const;
    });
    const loaded = load(makeDirectory(Object.fromEntries(files)));
    return { names: loaded.packs.map((pack) => pack.name), said: messages(loaded) };
  };

  it("is met by an installed pack whose version it takes", () => {
    const { names, said } = install({ a: { [name("b")]: "^1.2.0" }, b: {} });
    expect(said).toEqual([]);
    expect(names).toEqual([name("a"), name("b")]);
  });

  it.each([
    ["is not installed", { a: { [name("z")]: "*" } }, /pack_version_not_found: .*vendor\.test\.z/],
    ["is another version", { a: { [name("b")]: "^2.0.0" }, b: {} }, /conflict: .*1\.4\.0 is inst/],
    ["is no range", { a: { [name("b")]: "latest!" }, b: {} }, /"latest!", which is no range/],
  ])("that %s refuses the pack by name", (_, packs, problem) => {
    const { names, said } = install(packs);
    expect(names).not.toContain(name("a"));
    expect(said).toEqual([expect.stringMatching(problem)]);
    expect(said[0]).toMatch(/^agents\/openwop\/a\/pack\.json: dependencies\./);
  });

  it("takes those with it that depend on what is refused", () => {
    const { names, said } = install({
      ...{ a: { [name("b")]: "*" }, b: { [name("c")]: "*" }, c: { [name("z")]: "*" }, d: {} },
    });
    expect(names).toEqual([name("d")]);
    expect(said).toHaveLength(3);
  });

  it("that leads back refuses the circle, and shows it", () => {
    const { names, said } = install({
      ...{ a: { [name("b")]: "*" }, b: { [name("a")]: "*" }, c: { [name("a")]: "*" } },
    });
    expect(names).toEqual([]);
    expect(said[0]).toContain("pack_dependency_cycle");
    expect(said[0]).toContain("vendor.test.a → vendor.test.b → vendor.test.a");
  });

  it("costs no more than looking at each a few times, and others have their turn in between", () => {
    const count = 300;
    let looks = 0;
    const packs = Array.from({ length: count }, (_, index): InstalledPack => {
      const pack = { version: "1.0.0", tenant: undefined, file: "pack.json", manifest: {} };
      const dependencies = index === 0 ? {} : { [name(`p${index - 1}`)]: "^1.0.0" };
      return {
        ...{ ...pack, agents: [], dependencies },
        get name() {
          looks += 1;
          return name(`p${index}`);
        },
      };
    });
    const work = resolvingDependencies(packs);
    let steps = 0;
    let step = work.next();
    for (; step.done !== true; step = work.next()) steps += 1;
    expect(step.value).toEqual({ packs, problems: [] });
    expect(steps).toBeGreaterThanOrEqual(2 * count);
    expect(looks).toBeLessThan(10 * count);
  });

  it("is another tenant's only where it is everybody's", () => {
    const pack = (fields: PackFields): string => JSON.stringify(packFile(fields));
    const depending = { name: name("a"), dependencies: { [name("b")]: "*" }, agents: [] };
    const node = { typeId: "vendor.x", version: "1.0.0", category: "data", role: "reader" };
    const directory = makeDirectory({
      "agents/openwop/acme/a/pack.json": pack({ ...depending, nodes: [node] }),
      "agents/openwop/zeta/b/pack.json": pack({
        ...{ name: name("b"), agents: [{ agentId: `${name("b")}.x` }] },
      }),
    });
    const loaded = load(directory, { installScope: "tenant" });
    expect(loaded.packs.map((one) => one.name)).toEqual([name("b")]);
  });
});

describe("a pack.json", () => {
  it.each<readonly [what: string, pack: PackFields, problem: RegExp]>([
    ["an unknown member", { surprise: true }, /surprise: is not a member that the schema declares/],
    ["a name of two parts", { name: "core.harbour" }, /name: must match pattern/],
    ["a name in no tier", { name: "feature.harbour.agents" }, /name: must match pattern/],
    ["a local name", { name: "local.harbour.crew" }, /name: must match pattern/],
    ["a version that is none", { version: "1.0" }, /version: must match pattern/],
    ["no engines", { engines: undefined }, /engines: is required/],
    ["engines without openwop", { engines: {} }, /engines\.openwop: is required/],
    ["a range that is none", { engines: { openwop: "soon" } }, /engines\.openwop: must be a range/],
    ["another major version", { engines: { openwop: "^2.0.0" } }, /must take in some version 1/],
    [
      "a runtime without an entry",
      { runtime: { language: "remote" } },
      /runtime\.entry: is required/,
    ],
    [
      "a language nobody has",
      { runtime: { language: "cobol", entry: "x" } },
      /runtime\.language: /,
    ],
    [
      "a meta entry with more in it",
      { peerDependenciesMeta: { a: { maybe: true } } },
      /maybe: is not/,
    ],
    ["neither agents nor nodes", { agents: [] }, /must have an agent or a node/],
    [
      "agents that are no objects",
      { agents: [1 as unknown as AgentFields] },
      /agents\[0\]: must be object/,
    ],
    ["a node with an unknown member", { nodes: [{ typeId: "a", hack: 1 }] }, /nodes\[0\]\.hack/],
  ])("is refused for %s", (_, pack, problem) => {
    const loaded = load(makeDirectory(packFiles(pack)));
    expect(loaded.packs).toEqual([]);
    expect(messages(loaded).join("\n")).toMatch(problem);
  });

  it("is read where it declares nodes, which are not run", () => {
    const node = { typeId: "vendor.x", version: "1.0.0", category: "data", role: "reader" };
    const loaded = load(makeDirectory(packFiles({ nodes: [node] })));
    expect(agentIds(loaded)).toHaveLength(1);
    expect(loaded.problems).toMatchObject([{ key: "nodes", severity: "warning" }]);
  });

  it.each([
    ["is no JSON", "{", /must be JSON/],
    ["is no object", "[]", /must be a JSON object/],
    ["names a member twice", '{"name": "a", "name": "b"}', /must not have the member "name" twice/],
    ["is deep", `${"[".repeat(2000)}${"]".repeat(2000)}`, /must not be nested deeper/],
    ["reaches for prototypes", '{"__proto__": {}}', /must have no member "__proto__"/],
    ["is huge", `"${"x".repeat(1_100_000)}"`, /must be at most 1048576 bytes/],
  ])("is refused when it %s", (_, text, problem) => {
    const loaded = load(makeDirectory({ "agents/openwop/pack/pack.json": text }));
    expect(loaded.packs).toEqual([]);
    expect(messages(loaded)).toEqual([expect.stringMatching(problem)]);
  });
});

describe("an agent of a pack", () => {
  it.each<readonly [what: string, agent: AgentFields, problem: RegExp]>([
    ["an unknown member", { mood: "good" }, /agents\[0\]\.mood: is not a member/],
    ["a host's id", { agentId: "host:crew" }, /agents\[0\]\.agentId: must match pattern/],
    [
      "another pack's name",
      { agentId: "vendor.other.pack.x" },
      /must be "vendor\.test\.pack" or begin/,
    ],
    [
      "a name that only begins alike",
      { agentId: "vendor.test.packet" },
      /must be "vendor\.test\.pack" or/,
    ],
    ["a class of model there is not", { modelClass: "vision" }, /modelClass: must be one of/],
    ["an empty persona", { persona: "" }, /persona: /],
    ["no prompt", { systemPrompt: undefined }, /must have one of systemPrompt and/],
    ["two prompts", { systemPromptRef: "p.md" }, /must have one of systemPrompt and/],
    ["a skill without a handoff", { role: "skill" }, /handoff: is required/],
    [
      "a skill that remembers",
      { role: "skill", handoff: {}, memoryShape: { longTerm: true } },
      /memoryShape\.longTerm: must be false/,
    ],
    ["a role there is not", { role: "boss" }, /role: must be one of/],
    ["a threshold above one", { confidence: { defaultThreshold: 1.1 } }, /defaultThreshold: /],
    [
      "a suite that is not there",
      { evalSuiteRef: "evals/a.json" },
      /evalSuiteRef: "evals\/a\.json" does not/,
    ],
  ])("is left out for %s", (_, agent, problem) => {
    const loaded = loadOne(agent);
    expect(agentIds(loaded)).toEqual([]);
    expect(messages(loaded).join("\n")).toMatch(problem);
  });

  it("does not take its siblings with it", () => {
    const good = { agentId: "vendor.test.pack.good" };
    const bad = { agentId: "vendor.test.pack.bad", persona: 7 };
    const loaded = load(makeDirectory(packFiles({ agents: [bad, good] })));
    expect(agentIds(loaded)).toEqual(["vendor.test.pack.good"]);
    expect(messages(loaded)).toEqual([
      "agents/openwop/pack/pack.json: agents[0].persona: must be string",
    ]);
  });

  it("may have overrides of its prompt, and is degraded without a library", () => {
    const loaded = loadOne({ promptOverrides: { system: "prompt:calm@1.0.0" } });
    expect(loaded.packs[0]?.agents[0]?.degraded).toEqual(["prompts"]);
    expect(loadOne({ promptOverrides: { system: "calm" } }).packs[0]?.agents).toEqual([]);
  });

  it("is left out where no model takes turns of its class", () => {
    const directory = makeDirectory(packFiles({}));
    const loaded = load(directory, { modelFault: () => "there is no model" });
    expect(messages(loaded)).toEqual([
      "agents/openwop/pack/pack.json: agents[0].modelClass: unsupported_model_class: there is no model",
    ]);
  });

  it("belongs to the first pack that has it", () => {
    const twice = packFile({ name: "vendor.test.pack.extra", agents: [] });
    const extra = {
      ...twice,
      agents: [{ ...packFile({}).agents[0], agentId: "vendor.test.pack.extra.a" }],
    };
    const first = packFile({ agents: [{ agentId: "vendor.test.pack.extra.a" }] });
    const loaded = load(
      makeDirectory({
        "agents/openwop/a/pack.json": JSON.stringify(first),
        "agents/openwop/b/pack.json": JSON.stringify(extra),
        "agents/openwop/c/pack.json": JSON.stringify(first),
      }),
    );
    expect(agentIds(loaded)).toEqual(["vendor.test.pack.extra.a"]);
    expect(messages(loaded)).toEqual([
      'agents/openwop/b/pack.json: agents: "vendor.test.pack.extra.a" is already installed from agents/openwop/a/pack.json',
      'agents/openwop/c/pack.json: name: "vendor.test.pack" is already installed from agents/openwop/a/pack.json',
    ]);
  });
});

describe("a reference of a manifest", () => {
  it.each([
    ["climbs", "../secret.md", /must not lead out of the pack/],
    ["climbs on its way", "prompts/../../secret.md", /must not lead out of the pack/],
    ["is absolute", "/etc/passwd", /must be a path relative to the pack/],
    ["is written for another system", "prompts\\a.md", /with forward slashes/],
    ["is a URL", "file:///etc/passwd", /does not exist/],
    ["leads to a directory", "prompts", /must be a file, is a directory/],
    ["leads to nothing", "prompts/none.md", /does not exist/],
    ["leads to no text", "prompts/binary.md", /must be UTF-8 text/],
    ["leads to much", "prompts/huge.md", /must be at most 262144 bytes/],
  ])("is refused when it %s", (_, systemPromptRef, problem) => {
    const directory = makeDirectory({
      ...packFiles({ agents: [{ systemPrompt: undefined, systemPromptRef }] }),
      "agents/openwop/pack/prompts/a.md": "a prompt",
      "agents/openwop/pack/prompts/huge.md": "x".repeat(262_145),
      "agents/openwop/secret.md": "not of the pack",
    });
    writeFileSync(join(directory, "agents/openwop/pack/prompts/binary.md"), Buffer.from([0xff]));
    const loaded = load(directory);
    expect(agentIds(loaded)).toEqual([]);
    expect(messages(loaded)).toEqual([expect.stringMatching(problem)]);
  });

  it("is refused when it is a link that leads out, and taken when it leads within", () => {
    const directory = makeDirectory({
      ...packFiles({
        agents: [
          { agentId: "vendor.test.pack.in", systemPrompt: undefined, systemPromptRef: "in.md" },
          { agentId: "vendor.test.pack.out", systemPrompt: undefined, systemPromptRef: "out.md" },
        ],
      }),
      "agents/openwop/pack/prompts/a.md": "a prompt",
      "secret.md": "not of the pack",
    });
    const pack = join(directory, "agents/openwop/pack");
    symlinkSync(join(pack, "prompts/a.md"), join(pack, "in.md"));
    symlinkSync(join(directory, "secret.md"), join(pack, "out.md"));
    const loaded = load(directory);
    expect(agentIds(loaded)).toEqual(["vendor.test.pack.in"]);
    expect(messages(loaded)).toEqual([
      expect.stringMatching(/agents\[1\]\.systemPromptRef: "out\.md" is a link that leads out/),
    ]);
  });

  it("is refused when the pack itself is a link that leads out of the deployment", () => {
    const outside = makeDirectory({ "pack/pack.json": JSON.stringify(packFile({})) });
    const directory = makeDirectory({ "agents/openwop/keep": "" });
    symlinkSync(join(outside, "pack"), join(directory, "agents/openwop/pack"));
    const loaded = load(directory);
    expect(loaded.packs).toEqual([]);
    expect(messages(loaded)).toEqual([
      "agents/openwop/pack: is a link that leads out of the deployment directory",
    ]);
  });
});

describe("a handoff schema", () => {
  const withSchema = (text: string) =>
    loadOne({ handoff: { taskSchemaRef: "schemas/task.json" } }, { "schemas/task.json": text });

  it.each([
    ["is no JSON", "{", /handoff\.taskSchemaRef: "schemas\/task\.json" must be JSON/],
    ["is no object", "true", /must be a JSON object/],
    ["has a type there is not", '{"type": "thing"}', /is no JSON Schema: type/],
    ["refers to elsewhere", '{"$ref": "https://example.com/a.json"}', /is no JSON Schema: "\$ref"/],
    ["refers to nothing", '{"$ref": "#/$defs/none"}', /leads to no schema/],
    ["is of another dialect", '{"$schema": "http://json-schema.org/draft-07/schema#"}', /\$schema/],
    ["backtracks", `{"pattern": "^(a+)+\\\\1$"}`, /is no JSON Schema: pattern/],
    ["is deep", `${'{"not": '.repeat(30)}{}${"}".repeat(30)}`, /nested/],
  ])("that %s keeps the agent out", (_, text, problem) => {
    const loaded = withSchema(text);
    expect(agentIds(loaded)).toEqual([]);
    expect(messages(loaded).join("\n")).toMatch(problem);
  });

  it("never keeps the daemon busy, whatever its pattern", () => {
    const loaded = withSchema('{"type": "string", "pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}');
    const schema = loaded.packs[0]?.agents[0]?.taskSchema;
    const startedAt = cpuMs();
    expect(schema?.check("a".repeat(50_000))).toBeDefined();
    expect(cpuMs() - startedAt).toBeLessThan(5000);
  });
});

describe("a signature", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const key = publicKeyOf(publicKey);
  if (key === undefined) throw new Error("an Ed25519 key has a public half");
  const trustedKeys = new Map([["harbour", key]]);
  const signing = { method: "manual", publicKeyRef: "harbour", signatureRef: "keys/pack.json.sig" };

  function signedPack(pack: PackFields, signature?: Uint8Array): string {
    const directory = makeDirectory(packFiles(pack, { "keys/keep": "" }));
    const path = join(directory, "agents/openwop/pack");
    const text = JSON.stringify(packFile(pack));
    const made = signature ?? sign(null, Buffer.from(text), privateKey);
    writeFileSync(join(path, "keys/pack.json.sig"), made);
    return directory;
  }

  it.each([true, false])("of a trusted key is taken (required: %s)", (isRequired) => {
    const loaded = load(signedPack({ signing }), { signatures: { trustedKeys, isRequired } });
    expect(messages(loaded)).toEqual([]);
    expect(agentIds(loaded)).toHaveLength(1);
  });

  it("that does not verify refuses the pack", () => {
    const directory = signedPack({ signing }, Buffer.alloc(64, 1));
    const loaded = load(directory, { signatures: { trustedKeys, isRequired: false } });
    expect(loaded.packs).toEqual([]);
    expect(messages(loaded)).toEqual([
      expect.stringMatching(/signing\.signatureRef: pack_signature_invalid: .* does not verify/),
    ]);
  });

  it.each([
    ["is too long", Buffer.alloc(65)],
    ["is too short", Buffer.alloc(10)],
  ])("that %s refuses the pack", (_, signature) => {
    const directory = signedPack({ signing }, signature);
    const loaded = load(directory, { signatures: { trustedKeys, isRequired: false } });
    expect(messages(loaded)).toEqual([expect.stringMatching(/pack_signature_invalid/)]);
  });

  it("with a key that nobody trusts proves nothing", () => {
    const pack = { signing: { ...signing, publicKeyRef: "keys/own.pem" } };
    const loaded = load(signedPack(pack), { signatures: { trustedKeys, isRequired: false } });
    expect(agentIds(loaded)).toHaveLength(1);
    expect(loaded.problems).toMatchObject([{ key: "signing.publicKeyRef", severity: "warning" }]);
    const required = load(signedPack(pack), { signatures: { trustedKeys, isRequired: true } });
    expect(required.packs).toEqual([]);
  });

  it("must be there where the operator requires it", () => {
    const directory = makeDirectory(packFiles({}));
    const loaded = load(directory, { signatures: { trustedKeys, isRequired: true } });
    expect(messages(loaded)).toEqual([
      expect.stringMatching(/signing: pack_signature_invalid: the pack must be signed/),
    ]);
  });
});

describe("the packs directory", () => {
  it("may hold what is no pack", () => {
    const loaded = load(
      makeDirectory({
        ...packFiles({}),
        "agents/openwop/workflows/a.json": "{}",
        "agents/openwop/notes.txt": "",
      }),
    );
    expect(agentIds(loaded)).toHaveLength(1);
    expect(loaded.problems).toEqual([]);
  });

  it("may be absent unless somebody configured it", () => {
    expect(load(makeDirectory({}))).toEqual({ packs: [], problems: [] });
    expect(messages(load(makeDirectory({}), { packsDir: "elsewhere" }))).toEqual([
      "elsewhere: does not exist",
    ]);
    expect(messages(load(makeDirectory({ file: "" }), { packsDir: "file" }))).toEqual([
      "file: must be a directory",
    ]);
  });

  it("has a directory for each tenant where packs are the tenants'", () => {
    const pack = JSON.stringify(packFile({}));
    const directory = makeDirectory({
      "agents/openwop/acme/crew/pack.json": pack,
      "agents/openwop/bolt/crew/pack.json": pack,
      "agents/openwop/stray/pack.json": pack,
    });
    const loaded = load(directory, { installScope: "tenant" });
    expect(loaded.packs.map(({ tenant }) => tenant)).toEqual(["acme", "bolt"]);
    expect(messages(loaded)).toEqual([
      'agents/openwop/stray: is a pack where install_scope = "tenant" expects the directory of a tenant',
    ]);
  });
});
