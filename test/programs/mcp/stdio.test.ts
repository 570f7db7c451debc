/** `agtp-mcp URI` as a child process before a real daemon, to clients of both protocols. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { mcpProgram } from "../../../src/programs/mcp/command.ts";
import { makeOperator } from "../../support/approval-ways.ts";
import { openDaemon, type TestDaemon } from "../../support/daemon.ts";
import { agentFile, type DeploymentFiles, endpointFile } from "../../support/deployment.ts";
import { type Desktop, openDesktop, startDesktop } from "../../support/desktop.ts";
import { makeDirectory } from "../../support/directory.ts";
import { encodeRequest } from "../../support/dispatch.ts";
import { DESK, gatewayFiles, type Tables } from "../../support/gateway.ts";
import { VERSIONS } from "../../support/mcp.ts";
import { agentExtensions, CLIENT_EXTENSIONS } from "../../support/openssl-pki.ts";
import { runIn } from "../../support/terminal.ts";
import { makeIssuerKey, signToken } from "../../support/token-issuer.ts";
import { confirmation } from "../../support/waiting.ts";

const CLERK = "c".repeat(64);
const { ca: CA, fingerprint: FINGERPRINT, connection: AS_OPERATOR, pki } = makeOperator();
const AGENT = pki.make("agent", {
  issuer: "ca",
  extensions: [...CLIENT_EXTENSIONS, ...agentExtensions(DESK)],
});

const PATIENT = `
let begin, end;
const begun = new Promise((resolve) => { begin = resolve; });
const ended = new Promise((resolve) => { end = resolve; });
export const patient = ({ signal }) => new Promise((resolve) => {
  begin();
  signal.addEventListener("abort", () => { end("stopped"); resolve({ body: {} }); });
});
export const begins = async () => { await begun; return { body: {} }; };
export const ends = async () => ({ body: { how: await ended } });
`;

function handled(name: string, method: string, output: object = {}): string {
  return endpointFile({
    ...{ method, path: `/${name}`, output_schema: output },
    handler: { type: "registered_function", function: `patience.${name}` },
  });
}

/** The order desk, a room that an operator has to approve, and work that takes long. */
function files(tables: Tables = {}): DeploymentFiles {
  const sum = { type: "object", properties: { total: { type: "number" } } };
  return gatewayFiles(tables, {
    "ca.pem": CA,
    "patience.mjs": PATIENT,
    "endpoints/patient.toml": handled("patient", "CREATE"),
    "endpoints/begins.toml": handled("begins", "FETCH"),
    "endpoints/ends.toml": handled("ends", "FETCH", sum),
    "endpoints/book.toml": endpointFile({
      ...{ method: "BOOK", path: "/rooms/{room}", approval: "operator" },
      ...{ properties: { room: { type: "string" } }, required: ["room"] },
      handler: { type: "registered_function", function: "desk.echo" },
    } as Parameters<typeof endpointFile>[0]),
    "agents/clerk.agent.json": agentFile({
      ...{ agent_id: CLERK, name: "clerk", scopes_accepted: ["orders:archive"] },
    }),
  });
}

function uriOf({ daemon }: TestDaemon): string {
  return `agtp://localhost:${daemon.port}`;
}

function argsFor(server: TestDaemon, ...more: readonly string[]): readonly string[] {
  return [uriOf(server), "--insecure", "--agent-id", DESK, ...more];
}

async function namesOf({ client }: Pick<Desktop, "client">): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}

describe.each(VERSIONS)("a desktop client of %s", (version) => {
  it("is told what tools give, and reads the manifest, its contracts and the recipes", async () => {
    const server = await openDaemon(files());
    const { client } = await startDesktop(version, argsFor(server));
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "fetch_ends")?.outputSchema).toEqual({
      ...{ type: "object", properties: { total: { type: "number" } } },
    });
    expect(tools.find(({ name }) => name === "fetch_begins")?.outputSchema).toBeUndefined();
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      ...["agtp://test/", "agtp://test/contracts", "agtp://test/patterns"],
    ]);
    for (const { uri } of resources) {
      const { contents } = await client.readResource({ uri });
      const [content] = contents as readonly { readonly text?: string }[];
      expect(typeof JSON.parse(content?.text ?? "")).toBe("object");
    }
    await expect(client.readResource({ uri: "agtp://test/none" })).rejects.toThrow("not found");
  });

  it("is shown what its agent may call, or what it claims", async () => {
    const server = await openDaemon(files());
    const desk = await namesOf(await openDesktop(version, argsFor(server)));
    expect(desk).toContain("search_orders");
    expect(desk).not.toContain("archive_orders");
    const args = [uriOf(server), "--insecure", "--agent-id", CLERK];
    const clerk = await namesOf(await openDesktop(version, args));
    expect(clerk).toContain("archive_orders");
    expect(clerk).not.toContain("search_orders");
    const claiming = await openDesktop(version, argsFor(server, "--scope", "orders:write"));
    expect(await namesOf(claiming)).not.toContain("search_orders");
    const refused = await claiming.client.callTool({ name: "search_orders", arguments: {} });
    expect(refused).toMatchObject({ isError: true, _meta: { "io.agtp/audit-id": anyText } });
  });

  it("hears that the tools are others", async () => {
    const server = await openDaemon(files());
    const heard: string[][] = [];
    let wake: () => void = () => undefined;
    const onChanged = (_: Error | null, tools: readonly { readonly name: string }[] | null) => {
      heard.push((tools ?? []).map(({ name }) => name));
      wake();
    };
    const until = async (has: (names: readonly string[]) => boolean): Promise<void> => {
      while (!heard.some(has)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    };
    const listChanged = { tools: { debounceMs: 0, onChanged } };
    const { client } = await openDesktop(version, argsFor(server, "--look", "1"), { listChanged });
    await client.listTools();
    const added = join(server.directory, "endpoints/added.toml");
    const handler = { type: "registered_function", function: "desk.echo" };
    writeFileSync(added, endpointFile({ method: "AUDIT", path: "/added", handler }));
    await server.daemon.reload();
    await until((names) => names.includes("audit_added"));
    expect((await client.callTool({ name: "audit_added", arguments: {} })).isError).toBe(undefined);

    rmSync(added);
    await server.daemon.reload();
    await client.callTool({ name: "audit_added", arguments: {} }).catch(() => undefined);
    await until((names) => !names.includes("audit_added"));
  });

  it("cancels a call, which the handler learns of", async () => {
    const server = await openDaemon(files());
    const { client } = await openDesktop(version, argsFor(server));
    const controller = new AbortController();
    const call = { name: "create_patient", arguments: {} };
    const calling = client.callTool(call, { signal: controller.signal });
    await client.callTool({ name: "fetch_begins", arguments: {} });
    controller.abort();
    await expect(calling).rejects.toThrow();
    const { content } = await client.callTool({ name: "fetch_ends", arguments: {} });
    expect(JSON.stringify(content)).toContain("stopped");
  });

  it("makes a call once an operator has approved it, and once only", async () => {
    const tables = {
      policies: { identity: { operator_certificates: [FINGERPRINT] } },
      tls: { client_auth: "optional", client_ca: "ca.pem" },
    };
    const server = await openDaemon(files(tables));
    const { client } = await openDesktop(version, argsFor(server));
    const asked = await client.callTool({ name: "book_rooms", arguments: { room: "double" } });
    expect(asked.isError).toBe(true);
    const [id = ""] = /esc-[A-Za-z0-9-]+/.exec(JSON.stringify(asked.content)) ?? [];
    const operator = await server.connect(AS_OPERATOR);
    operator.write(encodeRequest(confirmation(id, "accepted")));
    expect((await operator.replies(1))[0]?.status).toBe(200);
    const approved = { name: "agtp_approved_call", arguments: { escalation_id: id } };
    const done = await client.callTool(approved);
    expect(JSON.stringify(done)).toContain("/rooms/double");
    expect(done.isError).toBeUndefined();
    expect(JSON.stringify(await client.callTool(approved))).toContain("approval-used");
  });

  it("is the agent of its certificate", async () => {
    const tables = {
      policies: { identity: { assurance: "certificate" } },
      tls: { client_auth: "required", client_ca: "ca.pem" },
    };
    const server = await openDaemon(files(tables));
    const directory = makeDirectory({ "agent.pem": AGENT.cert, "agent-key.pem": AGENT.key });
    const [cert, key] = [join(directory, "agent.pem"), join(directory, "agent-key.pem")];
    const args = [uriOf(server), "--insecure", "--cert", cert, "--key", key];
    const { client } = await openDesktop(version, [...args, "--agent-id", DESK]);
    const call = { name: "audit_orders", arguments: {} };
    const result = await client.callTool(call);
    expect(JSON.stringify(result.content)).toContain(DESK);
    const posing = await openDesktop(version, [...args, "--agent-id", CLERK]);
    await expect(posing.client.listTools()).rejects.toThrow();
  });

  it("speaks for the principal of its token", async () => {
    const issuer = await makeIssuerKey();
    const oauth = { issuer: "https://id.example", jwks_file: "jwks.json", audience: "test" };
    const server = await openDaemon({
      ...files({ policies: { oauth } }),
      "jwks.json": JSON.stringify({ keys: [issuer.jwk] }),
    });
    const exp = Math.floor(Date.now() / 1_000) + 600;
    const claims = { iss: oauth.issuer, aud: "test", sub: "ada", exp };
    const directory = makeDirectory({ token: `${await signToken(issuer, claims)}\n` });
    const bearer = ["--bearer", `@${join(directory, "token")}`];
    const { client, told } = await startDesktop(version, argsFor(server, ...bearer));
    const call = { name: "audit_orders", arguments: {} };
    const result = await client.callTool(call);
    expect(result.structuredContent).toMatchObject({ principal_id: "ada", agent_id: DESK });
    const wrong = await openDesktop(version, argsFor(server, "--bearer", "no-token"));
    await expect(wrong.client.listTools()).rejects.toThrow(/401|token/);
    expect(told()).toBe("");
  });

  it("is told what is wrong while no server is there, and so is the person", async () => {
    const args = ["agtp://localhost:1", "--insecure", "--agent-id", DESK];
    const { client, told } = await startDesktop(version, args);
    await expect(client.listTools()).rejects.toMatchObject({ code: -32_603 });
    const call = { name: "audit_orders", arguments: {} };
    expect(await client.callTool(call)).toMatchObject({ isError: true });
    expect(told()).toMatch(
      /^agtp-mcp: the server cannot be asked: .* \(nobody listens there: agtpd starts a daemon, .*\)\n$/,
    );
  });

  it("names the way to trust a server, once", async () => {
    const server = await openDaemon(files());
    const { client, told } = await startDesktop(version, [uriOf(server), "--agent-id", DESK]);
    await expect(client.listTools()).rejects.toMatchObject({ code: -32_603 });
    await expect(client.listTools()).rejects.toMatchObject({ code: -32_603 });
    expect(told()).toMatch(
      /^agtp-mcp: the server cannot be asked: no trusted TLS connection .* \(name its authority with --ca FILE, .*\)\n$/,
    );
  });
});

const anyText: unknown = expect.any(String);

/** The program on its own: what it writes where, and how it ends. */
async function runRaw(args: readonly string[], input: string): Promise<Raw> {
  const program = resolve(import.meta.dirname, "../../../dist/tools/agtp-mcp.js");
  const child = spawn(process.execPath, [program, ...args], { cwd: makeDirectory() });
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const exit = once(child, "exit");
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await exit) as [number];
  return { out, err, code };
}

interface Raw {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

describe("the program", () => {
  it.each([
    ["nothing", ""],
    ["what is no JSON", "hello\n\n{\n"],
    ["messages that are none", '[]\n7\n{"jsonrpc":"1.0"}\n{"jsonrpc":"2.0","id":1,"result":{}}\n'],
  ])(
    "that reads %s writes messages and nothing else, and ends with its input",
    async (_, input) => {
      const { out, code } = await runRaw(["agtp://localhost:1", "--insecure"], input);
      for (const line of out.split("\n").filter(Boolean)) {
        expect(JSON.parse(line)).toHaveProperty("jsonrpc", "2.0");
      }
      expect(code).toBe(0);
    },
  );

  it("tells a person of messages that are none, a line each", async () => {
    const lines = '[]\n{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n';
    const { err } = await runRaw(["agtp://localhost:1", "--insecure"], lines);
    expect(err).toBe("agtp-mcp: a line that is no message of MCP is not answered\n".repeat(2));
  });

  it("answers every request that it has read before it ends", async () => {
    const server = await openDaemon(files());
    const clientInfo = { name: "pipe", version: "1" };
    const opening = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const asked = [
      { id: 1, method: "initialize", params: opening },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/list" },
      { id: 3, method: "tools/call", params: { name: "audit_orders", arguments: {} } },
      { id: 4, method: "tools/call", params: { name: "create_patient", arguments: {} } },
      { method: "notifications/cancelled", params: { requestId: 4 } },
    ];
    const input = asked.map((one) => `${JSON.stringify({ jsonrpc: "2.0", ...one })}\n`).join("");
    const { out, err, code } = await runRaw(argsFor(server), input);
    const answers = out
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(answers.map(({ id, result }) => [id, result !== undefined])).toEqual(
      expect.arrayContaining([1, 2, 3].map((id) => [id, true])),
    );
    expect([err, code]).toEqual(["", 0]);
  });

  it("ends when one message is longer than it reads", async () => {
    const { out, code } = await runRaw(["agtp://localhost:1"], "x".repeat(11 * 1024 * 1024));
    expect([out, code]).toEqual(["", 0]);
  });

  it.each([
    [["--cert", "none.pem", "--key", "none.pem"]],
    [["--cert", "none.pem"]],
    [["--bearer", "@none"]],
    [["--look", "0"]],
    [["--look", "often"]],
  ])("that is given %j says what is wrong on standard error alone", async (args) => {
    const run = await runIn(".", mcpProgram, ["agtp://localhost:1", ...args]);
    expect(run).toMatchObject({ out: "", exitCode: 2, err: expect.stringMatching(/./) });
  });
});
