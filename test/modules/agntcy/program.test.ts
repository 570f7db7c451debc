/** `agtp-agntcy` in process: what it says of manifests, and which records it writes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Environment } from "../../../src/base/environment.ts";
import { readManifest } from "../../../src/modules/agntcy/manifest/read-manifest.ts";
import { agntcyProgram } from "../../../src/programs/agntcy-command/command.ts";
import {
  agentManifest,
  deploymentManifest,
  MAIL_SPECS,
  MAYA,
  oasfRecord,
  remote,
  SOURCE,
} from "../../support/agntcy.ts";
import { agentFile, configFile } from "../../support/deployment.ts";
import { type Files, makeDirectory } from "../../support/directory.ts";
import { runIn } from "../../support/terminal.ts";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The program in a directory of its own. */
function program(files: Files, env: Environment = {}) {
  const directory = makeDirectory(files);
  const run = async (...args: readonly string[]): Promise<Ran> => {
    const { exitCode: code, ...written } = await runIn(directory, agntcyProgram, args, {
      environment: env,
    });
    return { code, ...written };
  };
  return { directory, run };
}

describe("agtp-agntcy validate", () => {
  it("says yes to a manifest of any shape", async () => {
    for (const build of [agentManifest, deploymentManifest, oasfRecord]) {
      const { run } = program({ "m.json": JSON.stringify(build({})) });
      const { code, out, err } = await run("validate", "m.json");
      expect([code, err]).toEqual([0, ""]);
      expect(out).toMatch(/^m\.json: org\.agntcy\.mailcomposer 0\.0\.1 \(.+\) is valid\n$/);
    }
  });

  it("says no, and everything that is wrong", async () => {
    const manifest = agentManifest({ specs: { ...MAIL_SPECS, interrupts: [], config: 7 } });
    const { run } = program({ "m.json": JSON.stringify(manifest) });
    const text = await run("validate", "m.json");
    expect(text.code).toBe(1);
    expect(text.out).toContain("m.json: /specs/config: is 7, expected a JSON Schema\n");
    const json = await run("validate", "m.json", "--json");
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({
      valid: false,
      problems: [{ pointer: "/specs/config" }, { pointer: "/specs/interrupts" }],
    });
  });

  it("tells what a valid one is", async () => {
    const manifest = oasfRecord({ options: [remote("https://a.example"), SOURCE] });
    const { run } = program({ "m.json": JSON.stringify(manifest) });
    expect(JSON.parse((await run("validate", "m.json", "--json")).out)).toMatchObject({
      ...{ valid: true, shape: "oasf-record", callable: true, problems: [] },
      interrupts: ["mail_send_approval"],
      options: [
        { type: "remote_service", callable: true },
        { type: "source_code", callable: false },
      ],
    });
  });

  it("looks at dependencies where it is asked to", async () => {
    const dependencies = [{ name: "a", ref: { name: "a", version: "1", url: "a.json" } }];
    const environment = [{ name: "KEY", desc: "A key.", required: true }];
    const files = {
      "m.json": JSON.stringify(deploymentManifest({ dependencies })),
      "a.json": JSON.stringify(deploymentManifest({ name: "a", version: "1", environment })),
    };
    expect((await program(files).run("validate", "m.json")).code).toBe(0);
    const asked = await program(files).run("validate", "m.json", "--dependencies");
    expect([asked.code, asked.out.includes("needs KEY in the environment")]).toEqual([1, true]);
    expect(
      (await program(files, { KEY: "k" }).run("validate", "m.json", "--dependencies")).code,
    ).toBe(0);
  });

  it.each([
    ["a file that is not there", ["validate", "nowhere.json"]],
    ["a directory", ["validate", "."]],
    ["no manifest", ["validate"]],
    ["no command", []],
    ["an unknown option", ["validate", "m.json", "--fast"]],
  ])("cannot be asked about %s", async (_, args) => {
    const { code, out, err } = await program({ "m.json": "{}" }).run(...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).not.toBe("");
  });

  it("shows nothing of a manifest that a terminal would obey", async () => {
    const manifest = agentManifest({ name: "a\u001b[31mb" });
    const { out } = await program({ "m.json": JSON.stringify(manifest) }).run("validate", "m.json");
    expect(out).not.toContain("\u001b");
  });

  it("has help and a version", async () => {
    expect((await program({}).run("--help")).code).toBe(0);
    expect((await program({}).run("--version")).code).toBe(0);
  });
});

describe("agtp-agntcy export", () => {
  const options = [{ ...remote("https://inside.acme.example"), name: "svc" }, SOURCE];
  const files: Files = {
    "agtp-server.toml": configFile({
      server: { domain: "agents.acme.example", operator: "Acme" },
      agntcy: [{ manifest: "mail.json", base: "/mailcomposer" }] as unknown as object,
    }),
    "mail.json": JSON.stringify(agentManifest({ options })),
    "agents/maya.agent.json": agentFile({ agent_id: MAYA, name: "maya" }),
  };

  it("writes what an AGNTCY agent's manifest says as a record, its server left out", async () => {
    const { run } = program(files);
    for (const name of ["org.agntcy.mailcomposer", "/mailcomposer"]) {
      const { code, out, err } = await run("export", name);
      expect(code, err).toBe(0);
      expect(err).not.toContain("deployment option");
      expect(out).not.toContain("inside.acme.example");
      const { manifest, problems } = readManifest(out, "record.json");
      expect(problems).toEqual([]);
      expect(manifest).toMatchObject({
        ...{ shape: "oasf-record", name: "org.agntcy.mailcomposer", version: "0.0.1" },
        options: [{ type: "source_code", name: "src" }],
      });
      expect(JSON.parse(out)).toMatchObject({
        ...{ schema_version: "0.3.1", authors: ["Acme"], skills: [] },
        annotations: { "agtp.uri": "agtp://agents.acme.example/mailcomposer" },
        extensions: [{ data: { acp: { interrupts: [{ interrupt_type: "mail_send_approval" }] } } }],
      });
    }
    expect((await run("export", "/mailcomposer", "--upstream")).out).toContain(
      "inside.acme.example",
    );
  });

  it("writes newer and older names, and addresses that are no URLs, as the schema has them", async () => {
    const { extensions, ...record } = oasfRecord({
      options: [
        SOURCE,
        { ...SOURCE, name: "sub", url: "github.com/agntcy/agentic-apps.git//mail" },
        { ...SOURCE, name: "here", url: "file://./../" },
        { type: "docker", name: "img", image: "ghcr.io/acme/mail:1" },
      ],
      environment: [{ name: "MODEL", description: "Which model", default_value: "small" }],
    });
    const [, runtime] = extensions as readonly object[];
    const manifest = {
      ...record,
      modules: [
        { name: "acme.example/ours", data: { deployment: { deployment_options: [] } } },
        { ...runtime, name: "integration/acp_manifest" },
      ],
      skills: [{ id: 10201, name: "Text Completion" }, { name: "only/a/name" }],
      locators: [{ type: "container_image", urls: ["https://ghcr.io/acme/mail"] }],
    };
    const { run } = program({ ...files, "mail.json": JSON.stringify(manifest) });
    const { code, out, err } = await run("export", "/mailcomposer");
    expect(code, err).toBe(0);
    const written = JSON.parse(out);
    expect(written.skills).toEqual([{ class_uid: 10201, class_name: "Text Completion" }]);
    expect(written.locators[0]).toEqual({ type: "docker-image", url: "https://ghcr.io/acme/mail" });
    const { deployment_options: options, env_vars } = written.extensions[0].data.deployment;
    expect(env_vars).toEqual([{ name: "MODEL", desc: "Which model", defaultValue: "small" }]);
    expect(options.map(({ url, image }: Record<string, string>) => url ?? image)).toEqual([
      "ssh://git@github.com/agntcy/mailcomposer.git",
      "https://github.com/agntcy/agentic-apps.git//mail",
      "docker://ghcr.io/acme/mail:1",
    ]);
  });

  it("writes an agent with an identity document, and says that nobody can deploy it", async () => {
    const { run } = program(files);
    for (const name of ["maya", MAYA]) {
      const { code, out, err } = await run("export", name);
      expect(code).toBe(0);
      expect(err).toContain("has no deployment option");
      expect(JSON.parse(out)).toMatchObject({ name: "maya", authors: ["Test"] });
      const judged = await program({ "record.json": out }).run("validate", "record.json");
      expect(judged.code, judged.out).toBe(0);
      expect(judged.out).toContain("warning: ");
      expect(out).not.toContain("ACP");
    }
  });

  it("writes into a file, and replaces none unasked", async () => {
    const { run, directory } = program(files);
    expect((await run("export", "maya", "-o", "record.json")).code).toBe(0);
    expect(JSON.parse(readFileSync(join(directory, "record.json"), "utf8")).name).toBe("maya");
    expect((await run("export", "maya", "-o", "record.json")).code).toBe(1);
    expect((await run("export", "maya", "-o", "record.json", "--force")).code).toBe(0);
  });

  it("knows who is there", async () => {
    const { code, out, err } = await program(files).run("export", "nobody");
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain("known: org.agntcy.mailcomposer, maya");
  });

  it("cannot be asked without a configuration", async () => {
    expect((await program({}).run("export", "maya")).code).toBe(2);
    const broken = { ...files, "agtp-server.toml": "[server" };
    expect((await program(broken).run("export", "maya")).code).toBe(2);
  });
});
