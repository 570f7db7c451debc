import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatProblem, isError } from "../../src/base/problem.ts";
import { type LoadedAgents, loadAgents } from "../../src/identity/load-agents.ts";
import { makeDirectory } from "../support/directory.ts";
import {
  agentIdOf,
  DOCUMENT,
  DRAFT,
  ISSUER,
  type Members,
  REFERENCE,
  STRANGER,
  signGenesis,
  signIdentity,
  without,
} from "../support/genesis.ts";

const ID = "ab".repeat(32);
const OTHER_ID = "cd".repeat(32);
const LAUREN: Members = { ...DOCUMENT, agent_id: ID };

function loadFiles(files: Readonly<Record<string, unknown>>): LoadedAgents {
  const directory = makeDirectory();
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, "agents", name);
    mkdirSync(dirname(path), { recursive: true });
    const isRaw = typeof content === "string" || content instanceof Uint8Array;
    writeFileSync(path, isRaw ? content : JSON.stringify(content));
  }
  return load(directory, join(directory, "agents"));
}

function load(directory: string, agentsDir: string): LoadedAgents {
  return loadAgents({ directory, agentsDir, trustedIssuers: [ISSUER.publicKey] });
}

describe("loadAgents", () => {
  it("reads agent documents alone, not those of subdirectories", () => {
    const { documents, problems } = loadFiles({
      "lauren.agent.json": LAUREN,
      "notes.txt": "",
      ".hidden.genesis.json": "{",
      "openwop/pack/max.agent.json": "{",
    });
    expect(problems).toEqual([]);
    expect(documents).toMatchObject([{ file: "agents/lauren.agent.json", document: LAUREN }]);
  });

  it("has no agents and no problem without a directory", () => {
    const missing = join(tmpdir(), "agtpd-no-such-directory");
    expect(load(missing, join(missing, "agents"))).toEqual({
      documents: [],
      problems: [],
    });
  });

  it("reports a directory that somebody configured and that is not there", () => {
    const missing = join(tmpdir(), "agtpd-no-such-directory");
    const { problems } = load(missing, join(missing, "staff"));
    expect(problems.map(formatProblem)).toEqual(["staff: the directory does not exist"]);
  });

  it("reports an agents directory that is a file", () => {
    const directory = makeDirectory();
    writeFileSync(join(directory, "agents"), "");
    const { problems } = load(directory, join(directory, "agents"));
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
    const { problems } = load(directory, directory);
    expect(problems.map(({ message }) => message)).toEqual([
      "does not exist",
      "is a loop of symbolic links",
      "is a link that leads out of the deployment directory",
    ]);
  });
});

// AGTP-API §5.8.1
describe("loadAgents, of documents and Geneses,", () => {
  const genesis = signGenesis(DRAFT);
  const agentId = agentIdOf(DRAFT);
  const born: Members = { ...DOCUMENT, agent_id: agentId };
  const PAIR = { "lauren.agent.json": born, "lauren.genesis.json": genesis };

  const messagesOf = ({ problems }: LoadedAgents): readonly string[] => problems.map(formatProblem);

  it("pairs them by stem, in both styles", () => {
    const reference = { ...DOCUMENT, name: "max", agent_id: agentIdOf(REFERENCE) };
    const { documents, problems } = loadFiles({
      ...PAIR,
      "max.agent.json": { ...without(reference, "scopes_accepted"), requires: { scopes: ["a:b"] } },
      "max.genesis.json": without(signGenesis(REFERENCE), "agent_id"),
      "zoe.agent.json": { ...LAUREN, name: "zoe" },
    });
    expect(problems).toEqual([]);
    expect(documents).toMatchObject([
      { agentId, trustTier: 1, genesis: { file: "agents/lauren.genesis.json" } },
      { agentId: agentIdOf(REFERENCE), scopes: ["a:b"], ownerId: "acme.example" },
      { agentId: ID, genesis: undefined },
    ]);
  });

  it("does not serve a document whose Genesis was altered, and says which check failed", () => {
    const altered = { ...genesis, owner: "mallory.example" };
    const loaded = loadFiles({ ...PAIR, "lauren.genesis.json": altered });
    expect(loaded.documents).toEqual([]);
    expect(messagesOf(loaded)).toEqual([
      expect.stringMatching(/^agents\/lauren\.genesis\.json: signature: does not verify: /),
      expect.stringMatching(/^agents\/lauren\.genesis\.json: agent_id: must be "[0-9a-f]{64}"/),
      expect.stringMatching(
        /^agents\/lauren\.agent\.json: is not served, its Genesis fails: agents\/lauren\.genesis\.json: signature: does not verify: /,
      ),
    ]);
    expect(loaded.problems.every(isError)).toBe(true);
  });

  it("does not serve a document whose Genesis is of another agent", () => {
    const other = signGenesis({ ...DRAFT, owner: "other.example" });
    const loaded = loadFiles({ ...PAIR, "lauren.genesis.json": other });
    expect(loaded.documents).toEqual([]);
    expect(messagesOf(loaded)).toEqual([
      `agents/lauren.agent.json: agent_id: must be "${String(other["agent_id"])}", the hash of agents/lauren.genesis.json, got "${agentId}"`,
    ]);
  });

  it.each<[string, string | Uint8Array, string | RegExp]>([
    ["cut off", JSON.stringify(genesis).slice(0, 100), /^must be JSON: /],
    ["empty", "", /^must be JSON: /],
    ["not text", new Uint8Array([0xff]), "must be UTF-8 text"],
    ["too large", " ".repeat(1_048_577), /^must be at most 1048576 bytes long/],
  ])("does not serve a document whose Genesis is %s", (_, content, message) => {
    const { documents, problems } = loadFiles({ ...PAIR, "lauren.genesis.json": content });
    expect(documents).toEqual([]);
    expect(problems).toHaveLength(2);
    expect(problems[0]?.message).toEqual(
      typeof message === "string" ? message : expect.stringMatching(message),
    );
    expect(problems[1]?.message).toMatch(/^is not served, its Genesis fails: /);
  });

  it("does not serve a document whose Genesis is a directory, or a link that leads out", () => {
    const directory = makeDirectory();
    for (const stem of ["a", "b"]) {
      const document = { ...LAUREN, name: stem, agent_id: stem.repeat(64) };
      writeFileSync(join(directory, `${stem}.agent.json`), JSON.stringify(document));
    }
    mkdirSync(join(directory, "a.genesis.json"));
    symlinkSync("/dev/zero", join(directory, "b.genesis.json"));
    const loaded = load(directory, directory);
    expect(loaded.documents).toEqual([]);
    expect(loaded.problems).toHaveLength(4);
  });

  it("warns of a Genesis without a document, and still says what is wrong with it", () => {
    const lone = loadFiles({ "lauren.genesis.json": genesis });
    expect(lone.problems).toEqual([
      {
        file: "agents/lauren.genesis.json",
        key: "",
        message: 'has no identity document "agents/lauren.agent.json"',
        severity: "warning",
      },
    ]);
    expect(loadFiles({ "x.genesis.json": "{" }).problems.filter(isError)).toHaveLength(1);
    // The stems differ, whatever the file system thinks of case.
    expect(loadFiles({ "a.agent.json": LAUREN, "b.genesis.json": genesis }).documents).toHaveLength(
      1,
    );
  });

  it("does not call a Genesis lone whose document has problems of its own", () => {
    const loaded = loadFiles({ ...PAIR, "lauren.agent.json": "{" });
    expect(messagesOf(loaded)).toEqual([expect.stringMatching(/agent\.json: must be JSON: /)]);
    const unreadable = loadFiles({ ...PAIR, "lauren.agent.json": new Uint8Array([0xff]) });
    expect(messagesOf(unreadable)).toEqual(["agents/lauren.agent.json: must be UTF-8 text"]);
  });

  it("serves what an untrusted issuer signed, without what that issuer says, with a warning", () => {
    const foreign = { ...DRAFT, issuer_public_key: STRANGER.text };
    const document = { ...DOCUMENT, agent_id: agentIdOf(foreign) };
    const { documents, problems } = loadFiles({
      "lauren.agent.json": signIdentity(document, STRANGER),
      "lauren.genesis.json": signGenesis(foreign, STRANGER),
    });
    expect(documents).toMatchObject([{ signature: "untrusted", scopes: [], trustTier: 2 }]);
    expect(problems.map(({ file, severity }) => [file, severity])).toEqual([
      ["agents/lauren.genesis.json", "warning"],
      ["agents/lauren.agent.json", "warning"],
    ]);
  });

  it("leaves the claim of a refused document to the next one", () => {
    const { documents } = loadFiles({
      "a.agent.json": born,
      "a.genesis.json": "{",
      "b.agent.json": born,
      "b.genesis.json": genesis,
    });
    expect(documents.map(({ file }) => file)).toEqual(["agents/b.agent.json"]);
  });

  it("leaves an Agent-ID to the first of two copies of a Genesis", () => {
    const { documents, problems } = loadFiles({
      ...PAIR,
      "max.agent.json": { ...born, name: "max" },
      "max.genesis.json": genesis,
    });
    expect(documents.map(({ name }) => name)).toEqual(["lauren"]);
    expect(problems).toMatchObject([{ file: "agents/max.agent.json", key: "agent_id" }]);
  });
});
