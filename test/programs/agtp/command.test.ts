import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TlsOptions } from "node:tls";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { agtpProgram } from "../../../src/programs/agtp/command.ts";
import { EscalationRegister } from "../../../src/state/registers/escalation-register.ts";
import { type AgtpPeer, type Answer, reply, startPeer } from "../../support/agtp-peer.ts";
import { ALMA, approvingFiles, booking, OLGA } from "../../support/approving.ts";
import { makeCertificate } from "../../support/certificate.ts";
import { openDaemon, type RawClient, type TestDaemon } from "../../support/daemon.ts";
import { makeDirectory } from "../../support/directory.ts";
import { encodeRequest } from "../../support/dispatch.ts";
import { runText } from "../../support/doc-page.ts";
import { NORA, negotiationFiles, OPAL } from "../../support/negotiation.ts";
import { type ProgramRun, runIn, type World } from "../../support/terminal.ts";
import { escalation } from "../../support/waiting.ts";

const ID = "0123456789abcdef".repeat(4);

let directory: string;
let peer: AgtpPeer | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "agtp-command-"));
});

afterEach(async () => {
  rmSync(directory, { recursive: true });
  await peer?.close();
  peer = undefined;
});

/** A peer whose certificate lies where a daemon of this directory would have put it. */
async function serve(answer: Answer | Buffer, options?: TlsOptions): Promise<string> {
  const say: Answer = typeof answer === "function" ? answer : (socket) => socket.write(answer);
  peer = await startPeer(say, options);
  mkdirSync(join(directory, ".agtp/tls"), { recursive: true });
  writeFileSync(join(directory, ".agtp/tls/cert.pem"), peer.cert);
  return `agtp://localhost:${peer.port}`;
}

function run(args: string[], world: World = {}): Promise<ProgramRun> {
  return runIn(directory, agtpProgram, args, world);
}

describe("what agtp asks", () => {
  it.each([
    ["", [], "DISCOVER", "/", undefined],
    ["", ["QUERY"], "QUERY", "/", undefined],
    ["", ["QUERY", "/facts?a=b"], "QUERY", "/facts", "a=b"],
    ["/orders/7?x=1", ["CANCEL"], "CANCEL", "/orders/7", "x=1"],
    ["/agents/lauren", [], "DESCRIBE", "/agents/lauren", undefined],
    ["/agents/lauren", ["DISCOVER"], "DISCOVER", "/agents/lauren", undefined],
    ["/agents/lauren", ["BOOK", "/room"], "BOOK", "/room", undefined],
  ])("for a URI with %j and %j", async (path, args, method, askedPath, query) => {
    const uri = await serve(reply());
    expect(await run([uri + path, ...args])).toMatchObject({ exitCode: 0, err: "" });
    expect(peer?.requests).toMatchObject([{ method, path: askedPath, query }]);
  });

  it("asks for an agent by its id", async () => {
    const uri = await serve(reply(JSON.stringify({ agent_id: ID })));
    expect(await run([uri.replace("//", `//${ID}@`)])).toMatchObject({ exitCode: 0 });
    expect(peer?.requests).toMatchObject([{ method: "DESCRIBE", path: `/agents/${ID}` }]);
  });

  it("carries identity, scopes and header fields", async () => {
    const uri = await serve(reply());
    const identity = ["--agent-id", ID, "--owner-id", "acme", "--scope", "a:b, c:d"];
    await run([uri, ...identity, "-H", "Task-ID: t1", "-H", "X-Odd:a:b"]);
    const headers = peer?.requests[0]?.headers;
    expect(headers?.get("agent-id")).toBe(ID);
    expect(headers?.get("owner-id")).toBe("acme");
    expect(headers?.get("authority-scope")).toBe("a:b, c:d");
    expect(headers?.get("task-id")).toBe("t1");
    expect(headers?.get("x-odd")).toBe("a:b");
  });

  it("takes parameters from the argument as written, a file, or standard input", async () => {
    const uri = await serve(reply());
    writeFileSync(join(directory, "in.json"), '{"from":"file"}');
    await run([uri, "BOOK", "-d", '{"n": 12345678901234567890}']);
    await run([uri, "BOOK", "-d", "@in.json"]);
    await run([uri, "BOOK", "-d", "-"], { input: "[1]" });
    await run([uri, "BOOK", "-d", '{"a":1}', "--envelope"]);
    const bodies = peer?.requests.map(({ body }) => Buffer.from(body).toString());
    expect(bodies).toEqual([
      '{"n": 12345678901234567890}',
      '{"from":"file"}',
      "[1]",
      '{"method":"BOOK","parameters":{"a":1}}',
    ]);
  });

  it("trusts the authority that is named instead of the local certificate", async () => {
    const uri = await serve(reply());
    const other = await makeCertificate();
    writeFileSync(join(directory, "other.pem"), other.cert);
    const refused = await run([uri, "--ca", "other.pem"]);
    expect(refused).toMatchObject({ exitCode: 2, out: "" });
    expect((await run([uri, "--ca", ".agtp/tls/cert.pem"])).exitCode).toBe(0);
  });

  it("trusts nobody by itself, and anybody when told to", async () => {
    const uri = await serve(reply());
    rmSync(join(directory, ".agtp"), { recursive: true });
    const refused = await run([uri]);
    expect(refused.exitCode).toBe(2);
    expect(refused.err).toContain("--insecure");
    expect((await run([uri, "--insecure"])).exitCode).toBe(0);
  });
});

describe("what agtp answers", () => {
  it.each([
    ["200 OK", 0],
    ["202 Accepted", 0],
    ["261 Negotiation In Progress", 0],
    ["263 Proposal Approved", 0],
    ["262 Authorization Required", 1],
    ["301 Moved Permanently", 1],
    ["459 Method Violation", 1],
    ["500 Server Error", 1],
    ["299 Whatever", 1],
  ])("to %s, with the body on standard output, is exit code %i", async (status, exitCode) => {
    const uri = await serve(reply('{"a":1}', status));
    expect(await run([uri])).toMatchObject({ exitCode, out: '{"a":1}\n' });
  });

  it("prints nothing for 204, and exits 0", async () => {
    const uri = await serve(reply("", "204 No Content"));
    expect(await run([uri])).toEqual({ exitCode: 0, out: "", err: "" });
  });

  it("explains a refusal in one line on standard error", async () => {
    const error = { code: "method-not-in-catalog", message: "no such\nmethod" };
    const uri = await serve(reply(JSON.stringify({ error }), "459 Method Violation"));
    const { err } = await run([uri]);
    expect(err).toBe("refused: 459 Method Violation: method-not-in-catalog: no such method\n");
  });

  // The reference implementation's two error bodies.
  it.each(["explanation", "detail"])("explains a refusal by its error's %s", async (name) => {
    const body = JSON.stringify({ error: { code: "agent-not-found", [name]: "not here" } });
    const uri = await serve(reply(body, "404 Not Found"));
    const { err } = await run([uri]);
    expect(err).toBe("refused: 404 Not Found: agent-not-found: not here\n");
  });

  it("explains a refusal by what the body says at top level", async () => {
    const body = JSON.stringify({ reason: "rcns-disabled", explanation: "not here" });
    const uri = await serve(reply(body, "464 RCNS No Contract"));
    const { err } = await run([uri]);
    expect(err).toBe("refused: 464 RCNS No Contract: rcns-disabled: not here\n");
  });

  // AGTP-API §9.3
  it("always shows warnings on standard error", async () => {
    const fields =
      "AGTP-Catalog-Warning: deprecated; successor=RESERVE\r\nAGTP-Endpoint-Warning: deprecated\r\n";
    const uri = await serve(reply("{}", "200 OK", fields));
    const { out, err } = await run([uri]);
    expect(out).toBe("{}\n");
    expect(err).toBe(
      "warning: agtp-catalog-warning: deprecated; successor=RESERVE\n" +
        "warning: agtp-endpoint-warning: deprecated\n",
    );
  });

  it("prints status line and header fields with -i", async () => {
    const uri = await serve(reply("{}", "200 OK", "Server-ID: acme\r\n"));
    const { out } = await run([uri, "-i"]);
    expect(out).toBe("AGTP/1.0 200 OK\nserver-id: acme\ncontent-length: 2\n\n{}\n");
  });

  it("prints one JSON object with --json, whatever came", async () => {
    const uri = await serve(reply('{"a":1}', "459 Method Violation", "__proto__: x\r\n"));
    const { exitCode, out } = await run([uri, "--json"]);
    expect(exitCode).toBe(1);
    expect(out).toContain('"__proto__": "x"');
    expect(JSON.parse(out)).toMatchObject({ status: 459, body: { a: 1 } });
  });

  it("has a body that is nested without end as it came", async () => {
    const body = "[".repeat(100_000) + "]".repeat(100_000);
    const uri = await serve(reply(body));
    const { exitCode, out } = await run([uri, "--json"]);
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ status: 200, body });
  });

  it("lays JSON out in colour on a terminal", async () => {
    const uri = await serve(reply('{"a":[1,"b",null]}'));
    const { out } = await run([uri], { isTerminal: true });
    expect(out).toContain("\u001b[36m");
    const plain = out.replace(/\u001b\[\d+m/g, "");
    expect(plain).toBe(`${JSON.stringify({ a: [1, "b", null] }, undefined, 2)}\n`);
  });

  it("has numbers to the digit, however they are printed", async () => {
    const uri = await serve(reply('{"id":9007199254740993}'));
    const printed = [[], ["--json"], [{ isTerminal: true }]].map(async ([how]) => {
      const { out } = await (typeof how === "object"
        ? run([uri], how)
        : run([uri, ...(how ? [how] : [])]));
      return out.replace(/\u001b\[\d+m/g, "");
    });
    for (const out of await Promise.all(printed)) expect(out).toContain("9007199254740993");
  });

  it("does not let a peer write to the controls of a terminal", async () => {
    const hostile = "\u001b]0;owned\u0007\u009b31m\u202e";
    const fields = `X: ${"\x9b"}31m\r\nAGTP-Catalog-Warning: ${"\x9b"}2J\r\n`;
    const head = Buffer.from(`AGTP/1.0 400 ${"\x9b"}2J\r\n${fields}`, "latin1");
    const body = Buffer.from(hostile);
    const length = Buffer.from(`Content-Length: ${body.length}\r\n\r\n`);
    const uri = await serve(Buffer.concat([head, length, body]));
    const { out, err } = await run([uri, "-i"], { isTerminal: true });
    const shown = (out + err).replace(/\u001b\[\d+m/g, "");
    expect(shown).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
  });

  it("rejects a document of another agent than the URI names", async () => {
    const uri = await serve(reply(JSON.stringify({ agent_id: "f".repeat(64) })));
    const result = await run([uri.replace("//", `//${ID}@`)]);
    expect(result).toMatchObject({ exitCode: 2, out: "" });
    expect(result.err).toContain("another agent");
  });
});

describe("when there is no answer, agtp exits 2 and says why:", () => {
  it.each([
    ["no URI", []],
    ["an option that is none", ["agtp://localhost", "--nonsense"]],
    ["too many arguments", ["agtp://localhost", "QUERY", "/", "x"]],
    ["a URI that is none", ["localhost"]],
    ["an agent without a host", [`agtp://${ID}`]],
    ["two paths", ["agtp://localhost/a", "QUERY", "/b"]],
    ["parameters that are no JSON", ["agtp://localhost", "-d", "{a:1}"]],
    ["a file that is not there", ["agtp://localhost", "-d", "@missing.json"]],
    ["an authority that is not there", ["agtp://localhost", "--ca", "missing.pem"]],
    ["a header field that is none", ["agtp://localhost", "-H", "nonsense"]],
    ["a header field with a line end", ["agtp://localhost", "-H", "A: b\r\nC: d"]],
    ["a certificate without its key", ["agtp://localhost", "--cert", "c.pem"]],
    ["an authority that does not matter", ["agtp://localhost", "--ca", "c.pem", "--insecure"]],
    ["a method that is none", ["agtp://localhost", "A B"]],
  ])("%s", async (_, args) => {
    const { exitCode, out, err } = await run(args);
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: "" });
    expect(err).not.toBe("");
    expect(err).not.toMatch(/\n\s+at /);
  });

  it("an authority that is no certificate, before anybody is asked", async () => {
    writeFileSync(join(directory, "notes.pem"), "not a certificate\n");
    const { exitCode, err } = await run([await serve(reply()), "--ca", "notes.pem"]);
    const fault = "holds no PEM certificate, or one that is damaged";
    expect([exitCode, err]).toEqual([2, `agtp: "notes.pem" ${fault}\n`]);
  });

  it("nobody there", async () => {
    const uri = await serve(reply());
    await peer?.close();
    expect(await run([uri])).toMatchObject({ exitCode: 2, out: "" });
  });

  it.each([
    ["none", "none"],
    ["an empty file", ""],
  ])("a certificate of its own that is %s, without a word about the server's", async (_, text) => {
    const uri = await serve(reply());
    writeFileSync(join(directory, "none.pem"), text);
    const { exitCode, err } = await run([uri, "--cert", "none.pem", "--key", "none.pem"]);
    expect(exitCode).toBe(2);
    expect(err).toContain("unusable certificate or key");
    expect(err).not.toContain("--ca");
  });

  it("a server that closes connections without a certificate", async () => {
    const uri = await serve(() => undefined, { requestCert: true });
    const { exitCode, err } = await run([uri]);
    expect(exitCode).toBe(2);
    expect(err).toContain("--cert");
  });

  it("no AGTP from the peer", async () => {
    const uri = await serve(Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"));
    expect(await run([uri])).toMatchObject({ exitCode: 2, out: "" });
  });
});

describe("agtp", () => {
  it.each(["--help", "--version"])("prints %s on standard output, and exits 0", async (option) => {
    const { exitCode, out, err } = await run([option]);
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
    expect(out).toMatch(option === "--help" ? /Usage: agtp/ : /^\d+\.\d+\.\d+\n$/);
  });
});

const PAGE = `
\`\`\`sh
agtpd init shop --yes
cd shop
agtp-keys agent-ca
agtp-keys agent-cert --ca-cert .agtp/keys/agents-ca.pem --ca-key .agtp/keys/agents-ca-key.pem --genesis agents/guide.genesis.json
sed -i.bak -e 's|^# client_auth = .*|client_auth = "optional"|' -e 's|^# client_ca = .*|client_ca = ".agtp/keys/agents-ca.pem"|' -e 's|^assurance = .*|assurance = "certificate"|' agtp-server.toml
\`\`\`
\`\`\`daemon
agtpd
\`\`\`
\`\`\`refused
agtp agtp://localhost QUERY /items/tea
\`\`\`
\`\`\`sh
agtp agtp://localhost QUERY /items/tea --cert .agtp/keys/guide.cert.pem --key .agtp/keys/guide.key.pem
\`\`\`
`;

describe("agtp --cert", () => {
  it("needs no --agent-id", async () => {
    const { outputs } = await runText(PAGE, { directory: makeDirectory() });
    expect(outputs.at(-1)).toContain('"item_id":"tea"');
  });
});

/** Runs the program in the deployment's directory, where it finds the certificate to trust. */
function runOperator(
  { directory, daemon }: TestDaemon,
  args: readonly string[],
): Promise<ProgramRun> {
  const [command = "", ...rest] = args;
  return runIn(directory, agtpProgram, [command, `agtp://localhost:${daemon.port}`, ...rest]);
}

async function escalate(client: RawClient, taskId: string, count: number): Promise<string> {
  const asked = escalation(taskId, { context: { question: "may\u001b[2J I?" } });
  client.write(encodeRequest({ ...asked, headers: { "Agent-ID": NORA } }));
  const reply = (await client.replies(count))[count - 1];
  return String(reply?.body["result"]?.["escalation_id"]);
}

const AS_OPAL = ["--agent-id", OPAL];

describe("agtp escalations", () => {
  it("shows what waits, what is asked, and how one was decided", async () => {
    const daemon = await openDaemon(negotiationFiles());
    const client = await daemon.connect();
    const empty = await runOperator(daemon, ["escalations", ...AS_OPAL]);
    expect(empty).toMatchObject({ exitCode: 0, out: "", err: "nothing waits for a decision\n" });
    const unseen = await runOperator(daemon, ["escalations"]);
    expect(unseen).toMatchObject({ exitCode: 0, out: "" });
    expect(unseen.err).toContain("say who asks");
    const one = await escalate(client, "t-1", 1);
    const two = await escalate(client, "t-2", 2);
    const all = await runOperator(daemon, ["escalations", ...AS_OPAL]);
    expect(all).toMatchObject({ exitCode: 0, err: "" });
    const lines = all.out.split("\n");
    expect(lines[0]).toMatch(new RegExp(`^${two}  pending_review  normal  until 2`));
    expect(lines[1]).toBe(`  agent ${NORA}  task t-2  scope_limit  to operators`);
    expect(lines[3]).toContain(one);
    expect(all.out).not.toContain("\u001b");
    const first = await runOperator(daemon, ["escalations", "--limit", "1", ...AS_OPAL]);
    expect(first.err).toBe("1 of 2: --limit shows more, 200 at most\n");

    const confirm = ["confirm", one, "--decision", "rejected", "--note", "too dear"];
    const confirmed = await runOperator(daemon, [...confirm, ...AS_OPAL]);
    expect(confirmed).toMatchObject({ exitCode: 0, err: "" });
    expect(JSON.parse(confirmed.out)).toMatchObject({ result: { status: "rejected" } });
    const shown = await runOperator(daemon, ["escalations", one, ...AS_OPAL]);
    expect(shown.out).toMatch(new RegExp(`  rejected at .* by ${OPAL}: too dear\n$`));
    const left = await runOperator(daemon, ["escalations", "--json", ...AS_OPAL]);
    expect(JSON.parse(left.out)).toMatchObject({ status: 200, body: { result: { total: 1 } } });
  });

  it("shows the votes of one that waits for several people", async () => {
    const opening = vi.spyOn(EscalationRegister.prototype, "open");
    onTestFinished(() => opening.mockRestore());
    const daemon = await openDaemon(negotiationFiles());
    const one = await escalate(await daemon.connect(), "t-1", 1);
    const register = opening.mock.contexts[0] as EscalationRegister;
    await register.noteVotes(one, [{ by: "operator:\u001b[2Jann", action: "accept" }]);
    await register.noteVotes(one, []);
    const { out } = await runOperator(daemon, ["escalations", one, ...AS_OPAL]);
    expect(out).toMatch(/\n {2}operator:\S*ann says accept\n$/);
    expect(out).not.toContain("\u001b");
  });

  it("shows a call that is to be approved whole, however long", async () => {
    const daemon = await openDaemon(await approvingFiles());
    const client = await daemon.connect();
    const guest = `${"x".repeat(2_000)} and Bob`;
    const headers = { "Agent-ID": ALMA };
    client.write(encodeRequest({ ...booking("7"), headers, body: { guest } }));
    await client.replies(1);
    const { out } = await runOperator(daemon, ["escalations", "--agent-id", OLGA]);
    const [, , pair, input, digest] = out.split("\n");
    expect(pair).toBe("  BOOK /rooms/7  irreversible  for -");
    expect(JSON.parse(input ?? "")).toEqual({ guest, room: "7" });
    expect(digest).toMatch(/^ {2}sha256:[0-9a-f]{64}$/);
  });

  it("exits with 1 for what the server refuses", async () => {
    const daemon = await openDaemon(negotiationFiles());
    const id = await escalate(await daemon.connect(), "t-1", 1);
    const own = await runOperator(daemon, [
      "confirm",
      id,
      "--decision",
      "accepted",
      "--agent-id",
      NORA,
    ]);
    expect(own).toMatchObject({ exitCode: 1 });
    expect(own.err).toContain("refused: 403 Forbidden: confirmation-forbidden");
    const none = await runOperator(daemon, ["escalations", "esc-0", ...AS_OPAL]);
    expect(none).toMatchObject({ exitCode: 1 });
    expect(none.err).toContain("404");
  });

  it.each([
    ["escalations", "--status", "odd"],
    ["confirm", "esc-0"],
    ["confirm", "esc-0", "--decision", "maybe"],
    ["confirm", "--decision", "accepted"],
    ["confirm", "esc-0", "--decision=accepted", "--resume-value={"],
    ["escalations", "esc-0", "more"],
  ])("exits with 2 for %s %s %s", async (...args) => {
    const daemon = { directory: "/", daemon: { port: 1 } } as unknown as TestDaemon;
    const { exitCode, err } = await runOperator(daemon, args);
    expect(exitCode).toBe(2);
    expect(err).toMatch(/error: /);
  });

  it.each(["escalations", "confirm"])("says how to use %s", async (command) => {
    const { exitCode, out } = await runIn("/", agtpProgram, [command, "--help"]);
    expect(exitCode).toBe(0);
    expect(out).toContain(`Usage: agtp ${command}`);
  });
});
