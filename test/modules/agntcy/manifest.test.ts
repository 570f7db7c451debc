/** Manifests in every shape, well-formed and hostile. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isError } from "../../../src/base/problem.ts";
import { readManifest } from "../../../src/modules/agntcy/manifest/read-manifest.ts";
import {
  agentManifest,
  deploymentManifest,
  MAIL_SPECS,
  oasfRecord,
  remote,
  SOURCE,
} from "../../support/agntcy.ts";
import { cpuMs } from "../../support/cpu-time.ts";

const SERVICE = remote("https://agents.acme.example/acp", {
  agent_id: "3f1b1b1e-0b1a-4b57-9a53-5d2f7d4c2a10",
  authentication: { type: "apiKey", in: "header", name: "x-api-key" },
});
const DEPENDENCY = {
  name: "reviewer",
  ref: { name: "org.agntcy.reviewer", version: "1.0.0", url: "./reviewer.json" },
  deployment_option: "src",
  env_var_values: { values: { MODEL: "small" } },
};

function read(manifest: unknown) {
  const text = typeof manifest === "string" ? manifest : JSON.stringify(manifest);
  return readManifest(text, "mail.json");
}

/** `pointer: message` of every error. */
function faults(manifest: unknown): readonly string[] {
  const errors = read(manifest).problems.filter(isError);
  return errors.map(({ key, message }) => `${key}: ${message}`);
}

function withSpecs(specs: object): object {
  return agentManifest({ specs: { ...MAIL_SPECS, ...specs } });
}

describe("readManifest", () => {
  const given = { options: [SERVICE, SOURCE], dependencies: [DEPENDENCY] };

  it.each([
    ["agent-manifest", agentManifest],
    ["deployment-manifest", deploymentManifest],
    ["oasf-record", oasfRecord],
  ] as const)("makes one model of the shape %s", (shape, build) => {
    const { manifest, problems } = read(build(given));
    expect(problems).toEqual([]);
    expect(manifest).toMatchObject({
      ...{ shape, name: "org.agntcy.mailcomposer", version: "0.0.1" },
      description: "Composes mails.",
      specs: {
        capabilities: {
          ...{ threads: true, interrupts: true, callbacks: true },
          streaming: { values: true, custom: false },
        },
      },
      options: [
        { type: "remote_service", url: "https://agents.acme.example/acp" },
        { type: "source_code", name: "src" },
      ],
      dependencies: [
        {
          name: "reviewer",
          ref: { name: "org.agntcy.reviewer", version: "1.0.0", url: "./reviewer.json" },
          option: "src",
          values: { values: { MODEL: "small" } },
        },
      ],
    });
  });

  it("reads the names that other versions have for the same", () => {
    const { manifest, problems } = read({
      ...oasfRecord({}),
      extensions: undefined,
      modules: [
        {
          name: "runtime/manifest",
          data: {
            specs: {
              ...MAIL_SPECS,
              capabilities: {
                ...{ threads: true, interrupt_support: true },
                ...{ result_streaming: true, callbacks: null },
              },
              custom_streaming_update: null,
            },
            deployment: {
              deployment_options: [SOURCE],
              env_vars: [{ name: "MODEL", desc: "", required: true, default_value: "small" }].map(
                (one) => ({ ...one, desc: "The model." }),
              ),
              dependencies: [
                {
                  ...DEPENDENCY,
                  ref: { name: "a", version: "1", locator: "https://acme.example/a.json" },
                  env_var_values: { values: {}, dependencies: [{ name: "b", values: { A: "1" } }] },
                },
              ],
            },
          },
        },
      ],
    });
    expect(problems).toEqual([]);
    expect(manifest?.specs.capabilities).toEqual({
      ...{ threads: true, interrupts: true, callbacks: false },
      streaming: { values: true, custom: false },
    });
    expect(manifest?.environment).toEqual([
      { name: "MODEL", isRequired: true, defaultValue: "small" },
    ]);
    expect(manifest?.dependencies[0]?.ref.url).toBe("https://acme.example/a.json");
    expect(manifest?.dependencies[0]?.values.dependencies["b"]?.values).toEqual({ A: "1" });
  });

  it("takes the published samples, whose dependencies are bare references", () => {
    const dependencies = [{ name: "org.agntcy.sample-agent-2", version: "0.0.1" }];
    const { manifest } = read(agentManifest({ dependencies }));
    expect(manifest?.dependencies[0]?.ref).toEqual({
      name: "org.agntcy.sample-agent-2",
      version: "0.0.1",
    });
  });

  it("takes a format that JSON Schema does not define for an annotation", () => {
    const input = { type: "object", properties: { path: { type: "string", format: "jsonpath" } } };
    const { manifest, problems } = read(agentManifest({ specs: { ...MAIL_SPECS, input } }));
    expect(problems).toEqual([]);
    expect(manifest?.specs.input.check({ path: "no jsonpath at all" })).toBeUndefined();
    expect(manifest?.specs.input.check({ path: 7 })).toBeDefined();
  });

  it.each(["dependencies", "deployments"])(
    "takes empty %s beside a deployment for nothing",
    (name) => {
      const manifest = { ...deploymentManifest({}), [name]: [] };
      expect(faults(manifest)).toEqual([]);
      const full = { ...deploymentManifest({}), [name]: [{}] };
      expect(faults(full).join()).toContain("stands beside deployments or dependencies");
    },
  );

  it("takes the extension of the SDK's own example", () => {
    const { extensions, ...record } = oasfRecord({});
    const [, runtime] = extensions as readonly object[];
    const name = "oasf.agntcy.org/feature/runtime/manifest";
    expect(faults({ ...record, extensions: [{ ...runtime, name }] })).toEqual([]);
    const other = "schema.oasf.agntcy.org/features/runtime/manifest23";
    expect(faults({ ...record, extensions: [{ ...runtime, name: other }] }).join()).toContain(
      "has no extension called",
    );
  });

  it("takes whom an interrupt asks, which is people unless it says otherwise", () => {
    const [interrupt] = MAIL_SPECS["interrupts"] as readonly object[];
    const asking = (asks: unknown) =>
      agentManifest({
        specs: { ...MAIL_SPECS, interrupts: [{ ...interrupt, "x-agtp-asks": asks }] },
      });
    const asked = ["agent", "people", undefined].map(
      (word) => read(asking(word)).manifest?.specs.interrupts[0]?.asksAgent,
    );
    expect(asked).toEqual([true, false, false]);
    expect(faults(asking("anybody")).join()).toContain("/specs/interrupts/0/x-agtp-asks: ");
  });

  it("takes an ACP descriptor alone, and says what it lacks", () => {
    const { metadata, specs } = agentManifest({});
    const { manifest, problems } = read({ metadata, specs });
    expect(manifest?.options).toEqual([]);
    expect(problems.map(({ severity }) => severity)).toEqual(["warning"]);
  });

  it.each<[string, unknown, string]>([
    ["no JSON", "{", ": must be JSON"],
    ["no object", "[]", ": is an array, expected a manifest"],
    ["no specs", { ...agentManifest({}), specs: undefined }, "/specs: is missing"],
    ["no name", { ...agentManifest({}), metadata: { ref: {} } }, "/metadata/ref/name: is missing"],
    [
      "an unknown option",
      agentManifest({ options: [{ type: "carrier_pigeon" }] }),
      "/deployments/0/type: ",
    ],
    ["no options", agentManifest({ options: [] }), "/deployments: no deployment option is found"],
    [
      "an empty list of options",
      oasfRecord({ options: [] }),
      "/extensions/1/data/deployment/deployment_options: no deployment option is found",
    ],
    [
      "another protocol",
      agentManifest({
        options: [{ type: "remote_service", protocol: { type: "MCP", url: "https://a.example" } }],
      }),
      '/deployments/0/protocol/type: is "MCP", expected one of "ACP"',
    ],
    [
      "no URL",
      agentManifest({ options: [{ type: "remote_service", protocol: { type: "ACP" } }] }),
      "/deployments/0/protocol/url: is missing",
    ],
    [
      "an option twice",
      agentManifest({ options: [SOURCE, SOURCE] }),
      '/deployments/1/name: "src" is the name of another option',
    ],
    [
      "a dependency without ref",
      deploymentManifest({ dependencies: [{ name: "a" }] }),
      "/deployment/dependencies/0/ref: is missing",
    ],
    ["no config", withSpecs({ config: null }), "/specs/config: is missing"],
    [
      "interrupts that are not described",
      withSpecs({ interrupts: [] }),
      "/specs/interrupts: is empty",
    ],
    [
      "an interrupt without an answer",
      withSpecs({ interrupts: [{ interrupt_type: "a", interrupt_payload: {} }] }),
      "/specs/interrupts/0/resume_payload: is missing",
    ],
    [
      "an interrupt twice",
      withSpecs({
        interrupts: [1, 2].map(() => ({
          interrupt_type: "a",
          interrupt_payload: {},
          resume_payload: {},
        })),
      }),
      '/specs/interrupts/1/interrupt_type: "a" is declared twice',
    ],
    [
      "a thread's state without threads",
      withSpecs({ capabilities: { interrupts: true } }),
      "/specs/thread_state: must be absent",
    ],
    [
      "custom updates that are not described",
      withSpecs({ capabilities: { threads: true, interrupts: true, streaming: { custom: true } } }),
      "/specs/custom_streaming_update: is missing",
    ],
    [
      "custom updates that there are not",
      withSpecs({ custom_streaming_update: {} }),
      "/specs/custom_streaming_update: must be absent",
    ],
    [
      "a schema that is none",
      withSpecs({ input: { type: "obj", properties: { a: { minLength: "x" } } } }),
      "/specs/input/type: ",
    ],
    [
      "a reference to nothing",
      withSpecs({ output: { properties: { a: { $ref: "#/$defs/A" } } } }),
      "/specs/output/properties/a: ",
    ],
    [
      "a reference to elsewhere",
      withSpecs({ output: { $ref: "https://evil.example/schema.json" } }),
      "/specs/output/$ref: ",
    ],
    [
      "a record without locators",
      { ...oasfRecord({}), locators: undefined },
      "/locators: is missing",
    ],
    [
      "a record without the extension",
      { ...oasfRecord({}), extensions: [] },
      "/extensions: has no extension called",
    ],
  ])("refuses %s under a JSON Pointer", (_, manifest, expected) => {
    const found = faults(manifest);
    expect(
      found.some((fault) => fault.startsWith(expected)),
      found.join("\n"),
    ).toBe(true);
  });

  it("finds everything that is wrong in one pass", () => {
    const found = faults({
      metadata: { ref: { name: 7, version: " " } },
      specs: { ...MAIL_SPECS, input: 7, config: [] },
      deployments: [{ type: "docker" }],
    });
    expect(found.map((fault) => fault.split(":", 1)[0])).toEqual([
      "/metadata/ref/name",
      "/metadata/ref/version",
      "/metadata/description",
      "/specs/input",
      "/specs/config",
      "/deployments/0/image",
    ]);
  });

  it.each([
    ["__proto__ as a member", '{"metadata":{},"__proto__":{"polluted":1}}'],
    ["a member twice", '{"specs":{},"specs":{}}'],
    ["nesting without end", `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`],
  ])("refuses %s before looking at it", (_, text) => {
    expect(faults(text).length).toBe(1);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("takes names of the prototype for names", () => {
    const names = ["constructor", "toString", "hasOwnProperty"];
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    const { manifest } = read(withSpecs({ input: { type: "object", properties } }));
    expect(manifest?.specs.input.check({})).toBeUndefined();
    expect(manifest?.specs.input.check({ constructor: 7 })?.[0]?.path).toBe("/constructor");
    const values = { values: { constructor: "x" } };
    const kept = read(
      deploymentManifest({ dependencies: [{ ...DEPENDENCY, env_var_values: values }] }),
    );
    expect(kept.manifest?.dependencies[0]?.values.values).toEqual({ constructor: "x" });
  });

  it("judges values by schemas of strangers in bounded time", () => {
    const evil = { type: "string", pattern: "^(a+)+$" };
    const { manifest } = read(withSpecs({ input: evil }));
    const begun = cpuMs();
    manifest?.specs.input.check(`${"a".repeat(50_000)}b`);
    expect(cpuMs() - begun).toBeLessThan(2000);
  });

  it("bounds how many problems it tells, and how long their pointers are", () => {
    const options = Array.from({ length: 64 }, () => ({ type: "x".repeat(9000) }));
    const interrupts = Array.from({ length: 64 }, () => ({ interrupt_type: " " }));
    const { problems } = read({
      ...agentManifest({ options }),
      specs: { ...MAIL_SPECS, interrupts },
    });
    expect(problems.length).toBeLessThanOrEqual(100);
    expect(Math.max(...problems.map(({ message }) => message.length))).toBeLessThan(400);
  });

  it("never throws, whatever stands where", () => {
    const pieces = ["metadata", "specs", "deployments", "dependencies", "extensions", "ref", "acp"];
    const key = fc.oneof(fc.constantFrom(...pieces, "deployment", "type", "name"), fc.string());
    const anything = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<unknown>(null, true, 7, "", "remote_service", {}),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(key, tie("value"), { maxKeys: 5 }),
      ),
    })).value;
    fc.assert(
      fc.property(anything, (value) => {
        const { manifest, problems } = read(JSON.stringify(value));
        return manifest === undefined ? problems.some(isError) : !problems.some(isError);
      }),
      { numRuns: 400 },
    );
  });
});
