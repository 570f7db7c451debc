import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { create } from "xmlbuilder2";
import { reply } from "../../support/agtp-peer.ts";
import {
  type ConformanceServer,
  openConformanceServer,
  RUNS,
  runProgram,
  shippedCases,
} from "../../support/conformance.ts";
import { makeDirectory } from "../../support/directory.ts";
import { startLoopClock } from "../../support/event-loop.ts";
import { listen } from "../../support/port.ts";
import { openRawPeer, type RawAnswer } from "../../support/raw-peer.ts";
import type { ProgramRun } from "../../support/terminal.ts";

const AGENT = "a".repeat(64);

let server: ConformanceServer;
let uri: string;

beforeAll(async () => {
  const run = RUNS[0];
  if (run === undefined) throw new Error("there is no run");
  server = await openConformanceServer(run);
  uri = `agtp://127.0.0.1:${server.target.peer.port}`;
});

afterAll(() => server.close());

/** The report of a run with --json. */
async function report(...args: readonly string[]) {
  const { exitCode, out, err } = await runProgram([uri, "--insecure", "--json", ...args]);
  expect(err).toBe("");
  return { exitCode, ...JSON.parse(out) };
}

/** A run against a server that answers as a test wants it to. */
async function askPeer(answer: RawAnswer, ...args: readonly string[]): Promise<ProgramRun> {
  const peer = await openRawPeer(answer);
  return runProgram([peer.uri, "--insecure", ...args]);
}

describe("agtp-conformance against the daemon", () => {
  it("reports clause by clause, says why something was skipped, and exits 0", async () => {
    const { exitCode, out } = await runProgram([uri, "--insecure"]);
    expect(out).toContain("server fixture.example · AGTP-API 1.0 · catalog 2.1.0");
    expect(out).toContain("§5.1  Path Rules");
    expect(out).toMatch(/ {2}ok {6}5\.1-trailing-slash {2}A path that ends in/);
    expect(out).toMatch(/skipped 5\.8\.1-genesis .*\n +it needs an agent to act as \(--agent-id\)/);
    expect(out).toContain("§13.1  Requirements");
    expect(exitCode).toBe(0);
  });

  it("reports everything as JSON", async () => {
    const { exitCode, conforming, suite, cases, requirements, summary } = await report();
    expect({ exitCode, conforming }).toEqual({ exitCode: 0, conforming: true });
    expect(suite.draft).toBe("draft-hood-agtp-api-01");
    expect(requirements).toHaveLength(13);
    expect(summary.total).toBe(shippedCases().length);
    expect(cases).toContainEqual(
      expect.objectContaining({
        name: "5.1-trailing-slash",
        clauses: ["5.1", "13.1(3)", "13.1(8)"],
        requirements: [3, 8],
        level: "must",
        outcome: "passed",
        changes_state: false,
      }),
    );
  });

  it("changes nothing unless it is allowed to", async () => {
    const { cases } = await report("--agent-id", AGENT);
    const changing = cases.filter((one: { changes_state: boolean }) => one.changes_state);
    expect(changing.length).toBeGreaterThan(10);
    for (const { outcome, reason } of changing) {
      expect(outcome).toBe("skipped");
      expect(reason).toContain("--allow-state-changes");
    }
  });

  it("skips what the server does not claim, with the reason", async () => {
    const { cases } = await report("--only", "8.7", "--agent-id", AGENT);
    expect(cases).toContainEqual(
      expect.objectContaining({
        name: "8.7-closed-discovery",
        outcome: "skipped",
        reason: "it needs policies.anonymous_discovery to be off",
      }),
    );
  });

  it.each([
    [["--only", "5.1"], (name: string) => name.startsWith("5.1-")],
    [["--clause", "§7"], (name: string) => /^7\.1|^10\.6-semantic/.test(name)],
    [["--only", "13.1(13)"], (name: string) => /^5\.8-methods/.test(name)],
    [["--case", "5.6-fragment-in-path"], (name: string) => name === "5.6-fragment-in-path"],
  ])("runs the cases that %j names", async (args, isWanted) => {
    const { cases } = await report(...args);
    const names = cases.map(({ name }: { name: string }) => name);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      const one = shippedCases().find((known) => known.name === name);
      expect(isWanted(name) || one?.clauses.includes("7.1") || false, name).toBe(true);
    }
  });

  it("lists the cases without asking anybody", async () => {
    const { exitCode, out } = await runProgram(["--list"]);
    expect(exitCode).toBe(0);
    expect(out.trimEnd().split("\n")).toHaveLength(shippedCases().length);
    const listed = JSON.parse((await runProgram(["--list", "--json", "--only", "9"])).out);
    expect(listed[0]).toMatchObject({ clauses: expect.any(Array), needs: expect.any(Array) });
  });

  it("writes JUnit beside the report", async () => {
    const directory = makeDirectory();
    const { exitCode } = await runProgram([uri, "--insecure", "--junit", "out.xml"], directory);
    const xml = readFileSync(join(directory, "out.xml"), "utf8");
    expect(exitCode).toBe(0);
    expect(xml).toMatch(/^<\?xml version="1.0" encoding="UTF-8"\?>\n<testsuites name="/);
    expect(xml).toContain('<testsuite name="§5.1 Path Rules" tests="');
    expect(xml).toContain('<skipped message="it needs an agent to act as (--agent-id)"/>');
  });

  it("trusts a certificate by its fingerprint alone, and sends nothing to another", async () => {
    const { fingerprint256 } = server.daemon;
    const one = ["--case", "8.10-manifest"];
    expect((await runProgram([uri, "--fingerprint", fingerprint256, ...one])).exitCode).toBe(0);
    const wrong = await runProgram([uri, "--fingerprint", "0".repeat(64), ...one]);
    expect(wrong.exitCode).toBe(2);
    expect(wrong.err).toContain("the certificate's fingerprint is");
  });
});

describe("agtp-conformance with a list of what is known to fail", () => {
  it("says what it is known for, and does not fail for it", async () => {
    const directory = makeDirectory({ "known.txt": "# remarks\n8.10-manifest: being rewritten\n" });
    const peer = await openRawPeer((socket) => socket.write(reply("{}")));
    const args = ["--insecure", "--case", "8.10-manifest", "--known-failing", "known.txt"];
    const failing = await runProgram([peer.uri, ...args], directory);
    expect(failing.out).toContain("known to fail: being rewritten");
    expect(failing.exitCode).toBe(0);
    const passing = await runProgram([uri, ...args], directory);
    expect(passing.out).toContain("1 case: 1 no longer failing");
    expect(passing.exitCode).toBe(0);
  });

  it.each([
    ["8.10-manifest", "expected the name of a case, a colon and the reason"],
    ["8.10-manifest:", "is listed without a reason"],
    ["8.99-nothing: it is so", 'there is no case "8.99-nothing"'],
    ["8.10-manifest: a\n8.10-manifest: b", "is listed twice"],
  ])("does not use a list with %j", async (text, message) => {
    const directory = makeDirectory({ "known.txt": text });
    const args = [uri, "--insecure", "--known-failing", "known.txt"];
    const { exitCode, err } = await runProgram(args, directory);
    expect(exitCode).toBe(2);
    expect(err).toContain(message);
  });
});

describe("agtp-conformance against a hostile server", () => {
  const SOME = ["--only", "5"];
  // A connection is made in this time as well.
  const HASTY = [...SOME, "--timeout", "2"];

  it("shows what was sent, expected and got", async () => {
    const answer: RawAnswer = (socket) => socket.write(reply('{"ok":true}', "200 Fine"));
    const { exitCode, out } = await askPeer(answer, "--case", "5.1-trailing-slash");
    expect(exitCode).toBe(1);
    expect(out).toContain("status: expected 460, got 200");
    expect(out).toMatch(/sent\n +AGTP\/1\.0 QUERY \/conformance-[0-9a-f-]+\/\n +Request-ID: /);
    expect(out).toMatch(/expected\n +AGTP\/1\.0 460 Endpoint Violation\n/);
    expect(out).toMatch(/got\n +AGTP\/1\.0 200 Fine\n +content-length: 11\n +\n +\{"ok":true\}/);
  });

  it("ends each case of a server that stalls, and soon stops trying", async () => {
    const clock = startLoopClock();
    const { exitCode, out } = await askPeer(() => undefined, ...HASTY);
    clock.stop();
    expect(exitCode).toBe(1);
    expect(out).toContain("the server did not answer in time");
    expect(out).toContain("not tried: 3 cases running were not answered in time");
    expect(clock.ms).toBeLessThan(10_000);
  });

  it("ends each case of a server that drips", async () => {
    const answer: RawAnswer = (socket) => {
      const drip = setInterval(() => socket.write("A"), 20);
      socket.on("close", () => clearInterval(drip));
    };
    const { exitCode, out } = await askPeer(answer, ...HASTY);
    expect(exitCode).toBe(1);
    expect(out).toMatch(/sent part of a response, and no more|sent what is no response/);
  });

  it.each([
    ["garbage", "HTTP/1.1 200 OK\r\n\r\n", "the server sent what is no response"],
    ["an endless header", `AGTP/1.0 200 OK\r\nX: ${"x".repeat(300_000)}`, "header-too-large"],
    [
      "an impossible length",
      "AGTP/1.0 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
      "body-too-large",
    ],
  ])("says of %s what it is", async (_, bytes, message) => {
    const { exitCode, out } = await askPeer((socket) => socket.write(bytes), ...SOME);
    expect(exitCode).toBe(1);
    expect(out).toContain(message);
  });

  it("says that a server closed, or cut an answer off", async () => {
    const closed = await askPeer((socket) => socket.end(), ...SOME);
    expect(closed.out).toContain("the server closed the connection without an answer");
    expect(closed.err).toContain("one that asks for certificates does so: --cert, --key");
    const cut = await askPeer((socket) => socket.end("AGTP/1.0 200 OK\r\nContent-"), ...SOME);
    expect(cut.out).toContain("in the middle of a response");
  });

  it("survives nesting, controls and half characters", async () => {
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    const nested = await askPeer((socket) => socket.write(reply(deep)), "--only", "5.8");
    expect(nested.exitCode).toBe(1);
    const ugly = reply('{"a":"\u001b[31m\u202e"}', "200 \u0007", "X-Odd: \u001b[2J\r\n");
    const directory = makeDirectory();
    const peer = await openRawPeer((socket) => socket.write(ugly));
    const args = [peer.uri, "--insecure", "--junit", "o.xml", "--only", "8"];
    const { exitCode, out } = await runProgram(args, directory);
    expect(exitCode).toBe(1);
    const xml = readFileSync(join(directory, "o.xml"), "utf8");
    expect(() => create(xml)).not.toThrow();
    for (const text of [out, xml]) {
      expect(text).not.toMatch(/[\u0000-\u0008\u001b\u202e]/);
    }
  });

  it("lets no value of a server's manifest into the head of a request", async () => {
    const manifest = {
      catalog_version: "2.1.0",
      policies: {
        anonymous_discovery: true,
        methods: { disallow: ["BAD /x AGTP\r\nAgent-ID: y"] },
      },
      endpoints: [
        {
          method: "QUERY",
          path: "/a\r\nAgent-ID: z",
          semantic: { impact: "informational" },
          input_schema: { type: "object", additionalProperties: false },
        },
      ],
    };
    const peer = await openRawPeer((socket) => socket.write(reply(JSON.stringify(manifest))));
    const agent = ["--agent-id", AGENT];
    await runProgram([peer.uri, "--insecure", ...agent]);
    const agents = peer.received.flatMap((text) => text.match(/Agent-ID: .*/g) ?? []);
    expect(agents.length).toBeGreaterThan(10);
    expect(new Set(agents)).toEqual(new Set([`Agent-ID: ${AGENT}`]));
  });

  it("asks a server that closes after each answer again and again", async () => {
    const answer: RawAnswer = (socket) => {
      socket.end(reply("{}", "404 Not Found"));
    };
    const { exitCode, out } = await askPeer(answer, "--case", "3.1-cognitive-floor");
    expect(out).toContain("1 passed");
    expect(exitCode).toBe(0);
  });

  it("fails what depends on a manifest that cannot be read", async () => {
    const answer: RawAnswer = (socket) => socket.write(reply("no JSON"));
    const { exitCode, out } = await askPeer(answer, "--only", "8.7");
    expect(exitCode).toBe(1);
    expect(out).toContain("the server's manifest is no JSON");
  });
});

describe("agtp-conformance with other cases", () => {
  /** A run of one case that is written here. */
  async function runOne(exchanges: string, answer: RawAnswer) {
    const text = `# AGTP-API §5.1\n# title: It is so\n${exchanges}\n`;
    const directory = makeDirectory({ "cases/one.agtp": text });
    const peer = await openRawPeer(answer);
    const args = [peer.uri, "--insecure", "--json", "--cases", "cases", "--timeout", "0.3"];
    const { exitCode, out } = await runProgram(args, directory);
    const [one] = JSON.parse(out).cases;
    // The survey comes first, on connections of its own.
    return { exitCode, one, received: peer.received.slice(3) };
  }

  it("puts things in order again after a failure", async () => {
    const { exitCode, one, received } = await runOne(
      [
        "AGTP/1.0 QUERY /first\n----------\nAGTP/1.0 200 OK",
        "AGTP/1.0 QUERY /second\n----------\nAGTP/1.0 200 OK",
      ].join("\n==========\n") +
        "\n========== finally\nAGTP/1.0 REMOVE /first\n----------\nAGTP/1.0 200 OK",
      (socket) => socket.write(reply("{}", "500 Server Error")),
    );
    expect(exitCode).toBe(1);
    expect(one.failure).toMatchObject({ line: 3, differences: ["status: expected 200, got 500"] });
    expect(received.join("")).toBe("AGTP/1.0 QUERY /first\r\n\r\nAGTP/1.0 REMOVE /first\r\n\r\n");
  });

  it("takes an earlier answer's value into a later request", async () => {
    const { one, received } = await runOne(
      'AGTP/1.0 QUERY /a\n----------\nAGTP/1.0 200\n\n{"id": "{token:id}"}\n==========\n' +
        "AGTP/1.0 QUERY /{{id}}\n----------\nAGTP/1.0 200",
      (socket) => socket.write(reply('{"id":"x7"}')),
    );
    expect(one.outcome).toBe("passed");
    expect(received.join("")).toContain("AGTP/1.0 QUERY /x7\r\n");
  });

  it("skips what an answer shows not to be there", async () => {
    const { exitCode, one } = await runOne(
      "AGTP/1.0 QUERY /a\n----------\nAGTP/1.0 200\n---------- skip: it has none\nAGTP/1.0 404",
      (socket) => socket.write(reply("{}", "404 Not Found")),
    );
    expect(exitCode).toBe(0);
    expect(one).toMatchObject({ outcome: "skipped", reason: "it has none" });
  });

  it("sees whether a server closes the connection", async () => {
    const text = "AGTP/1.0 QUERY /a\n----------\nAGTP/1.0 400\n{close}";
    const answer = reply("{}", "400 Bad Request");
    const open = await runOne(text, (socket) => socket.write(answer));
    expect(open.one.failure.differences).toEqual([
      "the server left the connection open, expected it to be closed",
    ]);
    const closed = await runOne(text, (socket) => socket.end(answer));
    expect(closed.one.outcome).toBe("passed");
  });

  it("does not take answers that nobody asked for", async () => {
    const exchange = "AGTP/1.0 QUERY /a\n----------\nAGTP/1.0 200";
    const twice = Buffer.concat([reply("{}"), reply("{}")]);
    const { one } = await runOne(`${exchange}\n==========\n${exchange}`, (socket) =>
      socket.write(twice),
    );
    expect(one.failure.differences[0]).toContain("a response that nobody asked for");
  });
});

describe("agtp-conformance on a wrong command line", () => {
  it.each([
    [[], "expected the server to ask"],
    [["http://x"], 'expected it to begin with "agtp://"'],
    [["agtp://x/path"], "without a path"],
    [["agtp://x", "--agent-id", "alice"], "64 lower-case hexadecimal digits"],
    [["agtp://x", "--scope", "all"], "expected scopes such as a:b,c:d"],
    [["agtp://x", "--only", "five"], "expected a section such as 5.1"],
    [["agtp://x", "--only", "99"], "no case is about 99"],
    [["agtp://x", "--only", "5.1", "--clause", "99"], "no case is about 99"],
    [["agtp://x", "--case", "5.1"], 'there is no case "5.1"'],
    [["agtp://x", "--timeout", "0"], "expected seconds for --timeout"],
    [["agtp://x", "--timeout", "1e9"], "expected seconds for --timeout"],
    [["agtp://x", "-H", "no colon"], "expected a header field"],
    [["agtp://x", "--fingerprint", "ab"], "64 hexadecimal digits"],
    [["agtp://x", "--fingerprint", "0".repeat(64), "--insecure"], "alone"],
    [["agtp://x", "--catalog", "missing.json"], "does not exist"],
    [["agtp://x", "--proposal", "missing.json"], "does not exist"],
    [["agtp://x", "--cases", "missing"], "does not exist"],
    [["agtp://x", "--nonsense"], "unknown option"],
  ])("exits 2 for %j", async (args, message) => {
    const { exitCode, out, err } = await runProgram(args);
    expect(exitCode).toBe(2);
    expect(out).toBe("");
    expect(err).toContain(message);
  });

  it("exits 2 where nobody is, or nobody who speaks TLS", async () => {
    const plain = createServer((socket) => socket.end("hello\n"));
    const port = await listen(plain);
    const { exitCode, err } = await runProgram([`agtp://127.0.0.1:${port}`, "--insecure"]);
    expect(exitCode).toBe(2);
    expect(err).toMatch(/^agtp-conformance: \S+ does not speak TLS\n$/);
  });

  it("exits 0 for help and version", async () => {
    const { out } = await runProgram(["--help"]);
    expect(out).toContain("Exit codes: 0 nothing failed");
    expect(out).toContain("for one case (default: 10)");
    expect(out).not.toContain("[]");
    expect((await runProgram(["--version"])).exitCode).toBe(0);
  });

  it("has every option in docs/conformance.md", async () => {
    const docs = readFileSync(join(import.meta.dirname, "../../../docs/conformance.md"), "utf8");
    const { out } = await runProgram(["--help"]);
    const flags = [...out.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag = ""]) => flag);
    expect(flags.length).toBeGreaterThan(20);
    for (const flag of flags) {
      if (!["--version", "--help", "--header"].includes(flag)) expect(docs).toContain(flag);
    }
  });
});
