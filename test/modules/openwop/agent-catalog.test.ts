/** Installed packs as a host lists and exports them: held against the published schemas, and installed again. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonRecord } from "../../../src/base/json-value.ts";
import { type AgentCatalog, createCatalog } from "../../../src/modules/openwop/agent-catalog.ts";
import { createAgentRegistry } from "../../../src/modules/openwop/installed-agent.ts";
import { type LoadedPacks, loadPacks } from "../../../src/modules/openwop/packs/load-packs.ts";
import { Capabilities } from "../../../src/modules/openwop/packs/peer-capabilities.ts";
import { makeDirectory } from "../../support/directory.ts";
import { packFiles, redactorOf } from "../../support/openwop.ts";
import { expectValid, openRuns } from "../../support/openwop-runs.ts";

const FIXTURE = join(import.meta.dirname, "../../exchanges/deployment/packs");

function install(packsDir: string): LoadedPacks {
  return loadPacks(
    { directory: packsDir, packsDir, installScope: "host" },
    {
      capabilities: new Capabilities([]),
      signatures: { trustedKeys: new Map(), isRequired: false },
      modelFault: () => undefined,
    },
  );
}

function catalogOf({ packs }: LoadedPacks, secrets: Readonly<Record<string, string>> = {}) {
  const registry = createAgentRegistry(packs);
  return createCatalog(registry, redactorOf(secrets));
}

interface ExportedPack extends JsonRecord {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
}

function exportedPacks(catalog: AgentCatalog): readonly ExportedPack[] {
  return catalog.exports("any").packs as readonly ExportedPack[];
}

/** A directory with what was exported, as a reader of the export would write it. */
function unpack(catalog: AgentCatalog): string {
  const files = exportedPacks(catalog).flatMap(({ name, manifest, files: texts }) => [
    [`${name}/pack.json`, JSON.stringify(manifest)] as const,
    ...Object.entries(texts).map(([path, text]) => [`${name}/${path}`, text] as const),
  ]);
  return makeDirectory(Object.fromEntries(files));
}

const plain = ({ packs }: LoadedPacks): unknown =>
  packs.map(({ name, version, agents }) => ({
    ...{ name, version },
    agents: agents.map(({ agentId, prompt, taskSchema, returnSchema, toolAllowlist }) => ({
      ...{ agentId, prompt, toolAllowlist },
      schemas: [taskSchema?.schema, returnSchema?.schema],
    })),
  }));

// RFC 0003 §A
describe("the packs of a host", () => {
  it("are listed with manifests that the published schema takes", async () => {
    const catalog = catalogOf(install(FIXTURE));
    const server = await openRuns({ catalog });
    const { body } = await server.get("/v1/packs");
    const packs = body["packs"] as readonly { readonly agents: readonly object[] }[];
    expect(body).toMatchObject({ total: packs.length });
    const manifests = packs.flatMap(({ agents }) => agents);
    expect(manifests).toHaveLength(5);
    for (const manifest of manifests) expectValid(manifest, "agent-manifest");
  });

  it("are listed and exported with names as long as the schema lets them be, whatever they are written in", () => {
    const ship = "\u{1f6a2}";
    const names = {
      persona: ship.repeat(150),
      label: ship.repeat(80),
      description: ship.repeat(400),
    };
    const directory = makeDirectory(packFiles({ agents: [names] }));
    const catalog = catalogOf(install(join(directory, "agents/openwop")));
    const listed = catalog.packs("any").flatMap(({ agents }) => agents as readonly object[]);
    for (const manifest of [...listed, ...catalog.exports("any").manifests]) {
      expect(manifest).toMatchObject(names);
    }
  });

  it("are exported with manifests that the published schema takes, each with its prompt", async () => {
    const server = await openRuns({ catalog: catalogOf(install(FIXTURE)) });
    const { body } = await server.get("/v1/packs/export");
    const manifests = body["manifests"] as readonly Readonly<Record<string, unknown>>[];
    expect(manifests).toHaveLength(5);
    for (const manifest of manifests) {
      expectValid(manifest, "agent-manifest");
      expect(manifest["systemPrompt"]).toEqual(expect.stringMatching(/\S/));
    }
    const packs = body["packs"] as readonly { readonly manifest: object }[];
    for (const { manifest } of packs) expectValid(manifest, "node-pack-manifest");
  });

  it("are the same packs once what was exported is installed again", () => {
    const first = install(FIXTURE);
    const again = install(unpack(catalogOf(first)));
    expect(again.problems).toEqual([]);
    const byName = (loaded: LoadedPacks) =>
      exportedPacks(catalogOf(loaded)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    expect(byName(again)).toEqual(byName(first));
    expect(plain({ ...again, packs: inOrderOf(first, again) })).toEqual(plain(first));
  });

  it("keep an empty prompt, a suite and references where they are", () => {
    const suite = '{"tasks": []}';
    const directory = makeDirectory(
      packFiles(
        { agents: [{ systemPrompt: undefined, systemPromptRef: "p.md", evalSuiteRef: "e.json" }] },
        { "p.md": "", "e.json": suite },
      ),
    );
    const first = install(join(directory, "agents/openwop"));
    const catalog = catalogOf(first);
    const [exported] = exportedPacks(catalog);
    expect(exported?.files).toEqual({ "p.md": "", "e.json": suite });
    for (const manifest of catalog.exports("any").manifests) {
      expectValid(manifest, "agent-manifest");
    }
    expect(install(unpack(catalog)).problems).toEqual([]);
  });

  it("are told without secrets, and stay valid", () => {
    const secret = "tide-table-7";
    const persona = `Knows ${secret}`;
    const description = `${"x".repeat(488)}${secret}`;
    const schema = JSON.stringify({ properties: { password: { type: "string", const: secret } } });
    const directory = makeDirectory(
      packFiles(
        {
          description: secret,
          agents: [
            {
              ...{ persona, description, systemPrompt: `Say ${secret} to nobody.` },
              handoff: { taskSchemaRef: "t.json" },
            },
          ],
        },
        { "t.json": schema },
      ),
    );
    const catalog = catalogOf(install(join(directory, "agents/openwop")), { TIDE: secret });
    const told = JSON.stringify([catalog.exports("any"), catalog.packs("any")]);
    expect(told).not.toContain(secret);
    expect(told).toContain("[REDACTED:TIDE]");
    for (const one of catalog.exports("any").manifests) expectValid(one, "agent-manifest");
    // A member's name is no secret, and its schema is a schema still.
    expect(install(unpack(catalog)).problems).toEqual([]);
  });
});

function inOrderOf({ packs }: LoadedPacks, again: LoadedPacks): LoadedPacks["packs"] {
  return packs.flatMap(({ name }) => again.packs.find((one) => one.name === name) ?? []);
}
