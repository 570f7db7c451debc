import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readAgentFile } from "../../src/identity/agent-file.ts";
import { type LoadedAgents, loadAgents } from "../../src/identity/load-agents.ts";
import { formatProblem } from "../../src/problem.ts";
import { makeDirectory } from "../support/directory.ts";

const ID = "ab".repeat(32);
const OTHER_ID = "cd".repeat(32);
const LAUREN = {
  agtp_version: "0.7",
  agent_id: ID,
  name: "lauren",
  description: "Answers guests at the front desk.",
  principal: "Harbour Hotel",
  principal_id: "harbour-hotel.example",
  issuer: "https://harbour-hotel.example",
  issued_at: "2026-05-01T09:00:00Z",
  status: "active",
  scopes_accepted: ["booking:room", "documents:*"],
};

function loadFiles(files: Readonly<Record<string, unknown>>): LoadedAgents {
  const directory = makeDirectory();
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, "agents", name);
    mkdirSync(dirname(path), { recursive: true });
    const isRaw = typeof content === "string" || content instanceof Uint8Array;
    writeFileSync(path, isRaw ? content : JSON.stringify(content));
  }
  return loadAgents({ directory, agentsDir: join(directory, "agents") });
}

/** What is wrong with one document, without the name of its file. */
function problemsOf(document: unknown): string[] {
  const text = typeof document === "string" ? document : JSON.stringify(document);
  const { problems } = readAgentFile(text, "agents/a.agent.json");
  return problems.map((problem) => formatProblem(problem).replace("agents/a.agent.json: ", ""));
}

describe("loadAgents", () => {
  it("reads a document of the drafts", () => {
    const { documents, problems } = loadFiles({ "lauren.agent.json": LAUREN });
    expect(problems).toEqual([]);
    expect(documents).toEqual([
      {
        agentId: ID,
        name: "lauren",
        description: "Answers guests at the front desk.",
        principal: "Harbour Hotel",
        principalId: "harbour-hotel.example",
        ownerId: undefined,
        status: "active",
        scopes: ["booking:room", "documents:*"],
        trustTier: 2,
        verificationPath: "org-asserted",
        trustWarning: "verification-incomplete",
        document: LAUREN,
        file: "agents/lauren.agent.json",
      },
    ]);
  });

  it("reads agent documents alone, not those of subdirectories", () => {
    const { documents, problems } = loadFiles({
      "lauren.agent.json": LAUREN,
      "lauren.genesis.json": "{",
      "notes.txt": "",
      "openwop/pack/max.agent.json": "{",
    });
    expect(documents).toHaveLength(1);
    expect(problems).toEqual([]);
  });

  it("has no agents and no problem without a directory", () => {
    const missing = join(tmpdir(), "agtpd-no-such-directory");
    expect(loadAgents({ directory: missing, agentsDir: join(missing, "agents") })).toEqual({
      documents: [],
      problems: [],
    });
  });

  it("reports a directory that somebody configured and that is not there", () => {
    const missing = join(tmpdir(), "agtpd-no-such-directory");
    const { problems } = loadAgents({ directory: missing, agentsDir: join(missing, "staff") });
    expect(problems.map(formatProblem)).toEqual(["staff: the directory does not exist"]);
  });

  it("reports an agents directory that is a file", () => {
    const directory = makeDirectory();
    writeFileSync(join(directory, "agents"), "");
    const { problems } = loadAgents({ directory, agentsDir: join(directory, "agents") });
    expect(problems).toEqual([{ file: "agents", key: "", message: "must be a directory" }]);
  });

  it("serves the others when one is bad, in the order of their names", () => {
    const { documents, problems } = loadFiles({
      "c.agent.json": { ...LAUREN, agent_id: OTHER_ID, name: "max" },
      "b.agent.json": { ...LAUREN, agent_id: "b" },
      "a.agent.json": LAUREN,
    });
    expect(documents.map(({ name }) => name)).toEqual(["lauren", "max"]);
    expect(problems.map(formatProblem)).toEqual([
      'agents/b.agent.json: agent_id: must be 64 lower-case hex characters, got "b"',
    ]);
  });

  it("leaves an Agent-ID and a name to the first file that declares them", () => {
    const { documents, problems } = loadFiles({
      "a.agent.json": LAUREN,
      "b.agent.json": { ...LAUREN, name: "max" },
      "c.agent.json": { ...LAUREN, agent_id: OTHER_ID },
    });
    expect(documents.map(({ file }) => file)).toEqual(["agents/a.agent.json"]);
    expect(problems.map(formatProblem)).toEqual([
      `agents/b.agent.json: agent_id: "${ID}" is already declared by agents/a.agent.json`,
      'agents/c.agent.json: name: "lauren" is already declared by agents/a.agent.json',
    ]);
  });

  it("answers for files that are no regular text of a fair size", () => {
    const { problems } = loadFiles({
      "binary.agent.json": new Uint8Array([0xff]),
      "directory.agent.json/x": "",
      "large.agent.json": " ".repeat(1024 * 1024 + 1),
    });
    expect(problems.map(({ file, message }) => [file, message])).toEqual([
      ["agents/binary.agent.json", "must be UTF-8 text"],
      ["agents/directory.agent.json", "must be a file, is a directory"],
      ["agents/large.agent.json", "must be at most 1048576 bytes long, has 1048577"],
    ]);
  });

  it("answers for links that lead nowhere, round in a circle, or out of the deployment", () => {
    const directory = makeDirectory();
    symlinkSync("nowhere", join(directory, "a.agent.json"));
    symlinkSync("b.agent.json", join(directory, "b.agent.json"));
    symlinkSync("/dev/zero", join(directory, "c.agent.json"));
    const { problems } = loadAgents({ directory, agentsDir: directory });
    expect(problems.map(({ message }) => message)).toEqual([
      "does not exist",
      "is a loop of symbolic links",
      "is a link that leads out of the deployment directory",
    ]);
  });
});

describe("readAgentFile", () => {
  it.each(Object.keys(LAUREN).filter((key) => key !== "scopes_accepted"))(
    "requires %s, as a text",
    (key) => {
      expect(problemsOf({ ...LAUREN, [key]: undefined })).toEqual([`${key}: is required`]);
      expect(problemsOf({ ...LAUREN, [key]: null })).toEqual([`${key}: is required`]);
      expect(problemsOf({ ...LAUREN, [key]: 7 })).toEqual([`${key}: must be a string, got 7`]);
      expect(problemsOf({ ...LAUREN, [key]: " " })).toEqual([`${key}: must not be empty`]);
    },
  );

  it("collects every problem of a document", () => {
    expect(problemsOf({})).toHaveLength(9);
  });

  it.each([
    ["active", "active"],
    ["Active", "active"],
    ["SUSPENDED", "suspended"],
    ["retired", "retired"],
    ["revoked", "retired"],
    ["deprecated", "deprecated"],
  ])("reads the status %s as %s", (status, expected) => {
    const { document } = readAgentFile(JSON.stringify({ ...LAUREN, status }), "a");
    expect(document?.status).toBe(expected);
  });

  it("holds requires.scopes, where the document has it, instead of scopes_accepted", () => {
    const scopesOf = (requires: unknown): readonly string[] | undefined =>
      readAgentFile(JSON.stringify({ ...LAUREN, requires }), "a").document?.scopes;
    expect(scopesOf({ scopes: ["a:b", "a:b"] })).toEqual(["a:b"]);
    expect(scopesOf({ scopes: [] })).toEqual([]);
    expect(scopesOf({ methods: ["QUERY"] })).toEqual(LAUREN.scopes_accepted);
    expect(scopesOf({ scopes: null })).toEqual(LAUREN.scopes_accepted);
    expect(scopesOf(null)).toEqual(LAUREN.scopes_accepted);
  });

  it.each([
    [
      { status: "asleep" },
      'status: must be active, suspended, retired or deprecated, got "asleep"',
    ],
    [{ issued_at: "yesterday" }, 'issued_at: must be an ISO 8601 time, got "yesterday"'],
    [{ issued_at: "2026-13-45" }, 'issued_at: must be an ISO 8601 time, got "2026-13-45"'],
    [
      { scopes_accepted: ["a:b", "room"] },
      'scopes_accepted[1]: must be a scope token like "booking:room", got "room"',
    ],
    [{ scopes_accepted: "a:b" }, 'scopes_accepted: must be an array of scope tokens, got "a:b"'],
    [
      { requires: { scopes: [7] } },
      'requires.scopes[0]: must be a scope token like "booking:room", got 7',
    ],
    [{ requires: [] }, "requires: must be an object, got an array"],
    [{ trust_tier: 0 }, "trust_tier: must be 1, 2 or 3, got 0"],
    [{ owner_id: "a b" }, /^owner_id: must be 1 to 256 letters.* got "a b"$/],
  ])("refuses a document with %j", (members, expected) => {
    const [problem, ...more] = problemsOf({ ...LAUREN, ...members });
    expect(problem).toEqual(
      typeof expected === "string" ? expected : expect.stringMatching(expected),
    );
    expect(more).toEqual([]);
  });

  it.each(["null", "[]", '"text"', "7"])("refuses %s, which is no object", (text) => {
    expect(problemsOf(text)).toEqual(["must be a JSON object"]);
  });

  it("refuses what is no JSON, what nests too deep, and a reach for the prototype", () => {
    expect(problemsOf("{")).toEqual([expect.stringMatching(/^must be JSON: /)]);
    expect(problemsOf("[".repeat(100_000))).toEqual([expect.stringMatching(/^must be JSON: /)]);
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(problemsOf(deep)).toEqual(["must not be nested deeper than 32 levels"]);
    const polluting = JSON.stringify({ ...LAUREN, a: "A" }).replace('"a"', '"__proto__"');
    expect(problemsOf(polluting)).toEqual(['must have no member "__proto__"']);
  });

  it("keeps and freezes members that it does not know", () => {
    const extended = { ...LAUREN, skills: [{ name: "booking" }] };
    const { document } = readAgentFile(JSON.stringify(extended), "a");
    expect(document?.document).toEqual(extended);
    expect(Object.isFrozen(document?.document["skills"])).toBe(true);
  });

  it("never throws, whatever the members are", () => {
    const keys = fc.constantFrom(...Object.keys(LAUREN), "requires", "trust_tier", "owner_id");
    fc.assert(
      fc.property(fc.dictionary(keys, fc.jsonValue()), (members) => {
        const text = JSON.stringify({ ...LAUREN, ...members });
        const { document, problems } = readAgentFile(text, "a");
        expect(document === undefined).toBe(problems.length > 0);
      }),
      { numRuns: 300 },
    );
  });
});
