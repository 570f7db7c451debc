import { describe, expect, it } from "vitest";
import { findMethod } from "../../../src/modules/agentcli/methods/method-table.ts";
import { MAX_LINE_BYTES } from "../../../src/modules/agentcli/protocol/answer-line.ts";
import { call, manifestOf, promptTask, talk, testWorld } from "../../support/agentcli.ts";

const READY = {
  jsonrpc: "2.0",
  method: "agentcli.ready",
  params: { ok: true, manifest_version: "0.2" },
};
const PING = '{"jsonrpc":"2.0","id":7,"method":"agentcli.ping"}';
const PONG = { jsonrpc: "2.0", id: 7, result: { ok: true, pong: true } };
const ARGUMENT = { code: "invalid_argument", error_type: "invalid_argument" };

// agentcli protocol "Transport", "Envelope"
describe("the protocol on two streams", () => {
  it("begins with the ready notification, and ends with its input", async () => {
    expect(await talk([])).toEqual([READY]);
  });

  it("answers the example of the protocol document", async () => {
    const request =
      '{"jsonrpc":"2.0","id":"1","method":"agentcli.validate","params":{"manifest":{"version":"0.1","workflows":[{"id":"w1","name":"W","tasks":[{"id":"t1","name":"T","prompt":"hello","target":{"session_target":"isolated"},"schedule":{"cron":"0 9 * * *"}}]}]}}}';
    expect(await talk([`${request}\n`])).toEqual([
      READY,
      { jsonrpc: "2.0", id: "1", result: { ok: true, errors: [], warnings: [] } },
    ]);
  });

  it("counts what a line holds before it is parsed", async () => {
    const tasks = `[${"{},".repeat(200_000)}{}]`;
    const params = `{"manifest":{"version":"0.2","workflows":[{"id":"w","name":"W","tasks":${tasks}}]}}`;
    const line = `{"jsonrpc":"2.0","id":1,"method":"agentcli.validate","params":${params}}`;
    const [, refused, answered] = await talk([`${line}\n`, `${PING}\n`]);
    const details = "the line has more than 150000 lists and objects";
    expect(refused).toMatchObject({ id: null, error: { code: -32700, data: { details } } });
    expect(answered).toEqual(PONG);
  });

  it.each([
    ["no JSON", "{", -32700, "Parse error", null, { code: "parse_error" }],
    ["a batch", `[${PING}]`, -32600, "Batch requests are not supported", null, ARGUMENT],
    ["an empty batch", "[]", -32600, "Batch requests are not supported", null, ARGUMENT],
    ["a number", "5", -32600, "Invalid Request", null, ARGUMENT],
    ["null", "null", -32600, "Invalid Request", null, ARGUMENT],
    [
      "another version",
      '{"jsonrpc":"1.0","id":3,"method":"x"}',
      -32600,
      "Invalid Request",
      3,
      ARGUMENT,
    ],
    [
      "a method that is no text",
      '{"jsonrpc":"2.0","id":"a","method":1}',
      -32600,
      "Invalid Request",
      "a",
      ARGUMENT,
    ],
    [
      "an id that is an object",
      '{"jsonrpc":"2.0","id":{},"method":"agentcli.ping"}',
      -32600,
      "Invalid Request",
      null,
      ARGUMENT,
    ],
    [
      "an id that would be another one",
      '{"jsonrpc":"2.0","id":9007199254740993,"method":"agentcli.ping"}',
      -32600,
      "Invalid Request",
      null,
      ARGUMENT,
    ],
    [
      "an id that would be none",
      '{"jsonrpc":"2.0","id":1e400,"method":"agentcli.ping"}',
      -32600,
      "Invalid Request",
      null,
      ARGUMENT,
    ],
    [
      "params that are a list, before the method is looked up",
      '{"jsonrpc":"2.0","id":1,"method":"nope","params":[]}',
      -32602,
      "Params must be an object",
      1,
      ARGUMENT,
    ],
    [
      "an unknown method",
      '{"jsonrpc":"2.0","id":1,"method":"nope"}',
      -32601,
      "Method not found: nope",
      1,
      { code: "unknown_command", error_type: "unknown_command" },
    ],
    [
      "a name of every object",
      '{"jsonrpc":"2.0","id":1,"method":"constructor"}',
      -32601,
      "Method not found: constructor",
      1,
      { code: "unknown_command" },
    ],
  ])("refuses %s, and answers the next line", async (_, line, code, message, id, data) => {
    const [, first, second, ...rest] = await talk([`${line}\n${PING}\n`]);
    expect(first).toMatchObject({ jsonrpc: "2.0", id, error: { code, message, data } });
    expect(second).toEqual(PONG);
    expect(rest).toEqual([]);
  });

  it("answers no notification, whatever is wrong with it, and null is an id", async () => {
    const lines = [
      '{"jsonrpc":"2.0","method":"agentcli.ping"}',
      '{"jsonrpc":"2.0","method":"nope"}',
      '{"jsonrpc":"2.0","method":"agentcli.ping","params":[]}',
      "{}",
      '{"jsonrpc":"2.0","id":null,"method":"agentcli.ping"}',
    ];
    const [, ...answers] = await talk([`${lines.join("\n")}\n`]);
    expect(answers).toEqual([{ jsonrpc: "2.0", id: null, result: { ok: true, pong: true } }]);
  });

  it("takes null for no params, CRLF for LF, blank lines for nothing, and a last line without end", async () => {
    const line = PING.replace("}", ',"params":null}');
    expect(await talk([`\n  \r\n${line}\r\n\t\n${PING}`])).toEqual([READY, PONG, PONG]);
  });

  it("answers a line that is no UTF-8 as one that is no JSON", async () => {
    const [, first, second] = await talk([Buffer.from([0x22, 0xff, 0x22, 0x0a]), `${PING}\n`]);
    expect(first).toMatchObject({ id: null, error: { code: -32700 } });
    expect(second).toEqual(PONG);
  });

  it("answers in the order of the requests, a slow one first", async () => {
    const askJson = () =>
      new Promise<{ kind: "json"; value: unknown; maxAgeSeconds: undefined }>((resolve) => {
        setImmediate(() =>
          resolve({ kind: "json", value: { result: true }, maxAgeSeconds: undefined }),
        );
      });
    const manifest = manifestOf([promptTask({ authorization: { ref: "p" } })], {
      authorization_profiles: [
        { id: "p", provider: "opa", provider_config: { endpoint: "http://127.0.0.1/v1/data/x" } },
      ],
    });
    const slow = {
      ...{ jsonrpc: "2.0", id: "slow", method: "agentcli.authorization.evaluate" },
      params: { manifest, taskId: "t1" },
    };
    const world = testWorld({ askJson });
    const lines = await talk([`${JSON.stringify(slow)}\n${PING}\n`], { world });
    expect(lines.map(({ id }) => id)).toEqual([undefined, "slow", 7]);
    expect(lines[1]?.["result"]?.["decision"]).toMatchObject({ allowed: true });
  });

  it("answers a line of more than 16 MiB, and passes over it", async () => {
    const block = Buffer.alloc(1024 * 1024, "x");
    const chunks = Array.from({ length: 17 }, () => block);
    const [, first, second, ...rest] = await talk([...chunks, `\n${PING}\n`]);
    expect(first).toMatchObject({ id: null, error: { code: -32700 } });
    expect(second).toEqual(PONG);
    expect(rest).toEqual([]);
  });

  it("reads a line of exactly 16 MiB", async () => {
    const empty = '{"jsonrpc":"2.0","id":7,"method":"agentcli.ping","params":{"x":""}}';
    const padded = empty.replace('""', `"${"x".repeat(MAX_LINE_BYTES - empty.length)}"`);
    for (const end of ["\n", "\r\n"]) {
      expect(await talk([`${padded}${end}`])).toEqual([READY, PONG]);
    }
  });

  it("does not follow a value down without end", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const line = `{"jsonrpc":"2.0","id":1,"method":"agentcli.compile","params":{"manifest":${deep}}}`;
    const [, first, second] = await talk([`${line}\n${PING}\n`]);
    expect(first).toMatchObject({ id: 1, error: { code: -32602 } });
    expect(second).toEqual(PONG);
  });
});

// agentcli protocol "Methods"
describe("the methods", () => {
  const METHODS = [
    "agentcli.ping",
    "agentcli.version",
    "agentcli.schema",
    "agentcli.describe",
    "agentcli.targets",
    "agentcli.validate",
    "agentcli.compile",
    "agentcli.apply",
    "agentcli.inspect",
    "agentcli.convert",
    "agentcli.identity.providers",
    "agentcli.identity.schema",
    "agentcli.identity.resolve",
    "agentcli.identity.validateDelegation",
    "agentcli.authorizationProof.methods",
    "agentcli.authorizationProof.schema",
    "agentcli.authorizationProof.verify",
    "agentcli.authorization.providers",
    "agentcli.authorization.schema",
    "agentcli.authorization.evaluate",
    "agentcli.evidence.providers",
    "agentcli.evidence.schema",
  ];

  it("are the twenty of the protocol and two of later ones, and each is there", () => {
    expect(METHODS).toHaveLength(22);
    for (const method of METHODS) expect(findMethod(method), method).toBeDefined();
  });

  it("describe themselves, and the one notification", async () => {
    const { result } = await call("agentcli.describe", { target: "rpc" });
    const { description } = result ?? {};
    const listed = description?.["methods"] as unknown as readonly { method: string }[];
    expect(listed.map(({ method }) => method)).toEqual(METHODS);
    expect(description?.["notifications"]).toMatchObject([
      { method: "agentcli.ready", params: { ok: true, manifest_version: "0.2" } },
    ]);
  });

  it.each(["manifest", "workflow", "task", "targets", "commands", undefined])(
    "describe %s",
    async (target) => {
      const { result } = await call("agentcli.describe", { target });
      expect(result).toMatchObject({ ok: true, description: { name: target ?? "commands" } });
    },
  );

  it.each([
    ["agentcli.describe", { target: "nope" }, "Unknown description target: nope"],
    ["agentcli.schema", { target: "nope" }, "Unknown schema target: nope"],
    ["agentcli.schema", { legacy: "yes" }, "legacy must be a boolean"],
    ["agentcli.validate", {}, "manifest is required"],
    ["agentcli.compile", {}, "manifest is required"],
    ["agentcli.compile", { manifest: {}, target: "nope" }, "Unsupported compile target: nope"],
    ["agentcli.apply", {}, "manifest is required"],
    [
      "agentcli.apply",
      { manifest: {}, adoptBy: "x" },
      "Invalid adoptBy value: x. Accepted values: id, name",
    ],
    ["agentcli.convert", {}, "manifest is required"],
    ["agentcli.convert", { manifest: { version: "0.2" } }, "Input manifest must be version 0.1"],
    ["agentcli.identity.resolve", {}, "manifest is required"],
    ["agentcli.identity.resolve", { manifest: {} }, "taskId is required"],
    ["agentcli.identity.schema", {}, "provider is required"],
    ["agentcli.identity.schema", { provider: "aws" }, "Unknown identity provider: aws"],
    ["agentcli.authorizationProof.schema", {}, "method is required"],
    ["agentcli.authorizationProof.schema", { method: "x" }, "Unknown verifier method: x"],
    [
      "agentcli.authorization.schema",
      { provider: "topaz" },
      "Unknown authorization provider: topaz",
    ],
    ["agentcli.evidence.schema", { provider: "kms" }, "Unknown evidence provider: kms"],
  ])("say what is wrong with the arguments of %s", async (method, params, message) => {
    expect(await call(method, params)).toEqual({
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32602, message, data: ARGUMENT },
    });
  });

  it("list the targets as they are described", async () => {
    const { result } = await call("agentcli.targets");
    const { result: described } = await call("agentcli.describe", { target: "targets" });
    expect(result).toEqual({ ok: true, targets: described?.["description"]?.["items"] });
  });

  it("list what is implemented, and nothing else", async () => {
    const names = async (method: string, key: string) => {
      const { result = {} } = await call(method);
      return (result[key] as unknown as readonly { name: string }[]).map(({ name }) => name);
    };
    expect(await names("agentcli.identity.providers", "providers")).toEqual([
      ...["none", "env-bearer", "file-bearer", "delegated-bearer"],
    ]);
    expect(await names("agentcli.authorizationProof.methods", "methods")).toEqual([
      ...["none", "jwt", "detached-signature"],
    ]);
    expect(await names("agentcli.authorization.providers", "providers")).toEqual([
      ...["none", "opa", "cedar"],
    ]);
    expect(await names("agentcli.evidence.providers", "providers")).toEqual(["none", "ssh"]);
    expect((await call("agentcli.evidence.schema", { provider: "ssh" }))["result"]).toEqual({
      ...{ ok: true, provider: "ssh", methods: ["ssh-signature"] },
    });
  });

  it("report an invalid manifest as a result of validate, and as an error of compile", async () => {
    const manifest = { version: "0.2", workflows: [] };
    const errors = [{ path: "$.workflows", message: "must be a non-empty array" }];
    const validation = { ok: false, errors, warnings: [] };
    expect((await call("agentcli.validate", { manifest }))["result"]).toEqual(validation);
    expect((await call("agentcli.compile", { manifest }))["error"]).toEqual({
      code: -32602,
      message: "Manifest validation failed",
      data: { code: "validation_error", error_type: "validation_error", validation },
    });
  });
});
