import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { completionCommand } from "../../../src/programs/editors/completion-command.ts";
import { keysProgram } from "../../../src/programs/keys/command.ts";
import type { Command } from "../../../src/programs/shell/command.ts";
import { command } from "../../../src/programs/shell/command.ts";
import { daemonProgram } from "../../../tools/agtpd-program.ts";
import { makeDirectory } from "../../support/directory.ts";
import { runIn } from "../../support/terminal.ts";

const inner = command({
  name: "agtpd quoting",
  description: "It's one with a quote.",
  options: { "-o, --output <file>": "the user's own" },
  run: () => true,
});

const [ALICE, BOB] = ["a1".repeat(32), "b2".repeat(32)];
const DEPLOYMENT = {
  "agents/alice.agent.json": JSON.stringify({ agent_id: ALICE, name: "alice" }, undefined, 2),
  "agents/team/bob.agent.json": JSON.stringify({ agent_id: BOB, name: "bob" }),
  "endpoints/book-room.toml": '[endpoint]\nmethod = "BOOK"\npath = "/rooms/{id}"\n',
};

async function script(shell: string): Promise<string> {
  const programs = async (): Promise<readonly Command[]> => [
    daemonProgram(async () => undefined),
    keysProgram,
    { ...inner, name: "agtp-quoting" },
  ];
  const { exitCode, out, err } = await runIn(makeDirectory(), completionCommand(programs), [shell]);
  expect([exitCode, err]).toEqual([0, ""]);
  return out;
}

/** The words that a shell offers; undefined where there is no such shell. */
function offered(
  shell: string,
  program: string,
  cwd: string = makeDirectory(DEPLOYMENT),
): readonly string[] | undefined {
  const run = spawnSync(shell, shell === "bash" ? ["--norc", "-c", program] : ["-c", program], {
    encoding: "utf8",
    cwd,
  });
  if (run.error !== undefined) return undefined;
  expect(run.stderr).toBe("");
  return run.stdout.split(/\s+/).filter((word) => word !== "");
}

describe("agtpd completion", () => {
  it("offers nothing of a deployment where there is none", async () => {
    const ask =
      "COMP_WORDS=(agtp-keys verify --agent ''); COMP_CWORD=3; _agtpd_complete; echo $COMPREPLY";
    const empty = makeDirectory();
    expect(offered("bash", `${await script("bash")}\n${ask}`, empty)).toEqual([]);
  });

  it.each([
    [["agtpd", "sto"], ["stop"]],
    [["agtpd", "lo"], ["login"]],
    [["agtpd", "--config", "status", "--log-level", "d"], ["debug"]],
    [
      ["agtpd", "login", "--role", ""],
      ["viewer", "operator"],
    ],
    [["agtpd", "login", "--na"], ["--name"]],
    [["/usr/bin/agtpd", "--config", "x.toml", "login", "--role", "v"], ["viewer"]],
    [
      ["agtp-keys", "agent-"],
      ["agent-ca", "agent-cert"],
    ],
    [["agtp-quoting", "--out"], ["--output"]],
    [["agtpd", "completion", "z"], ["zsh"]],
    [["agtpd", "schema", "re"], ["recipe"]],
    [
      ["agtpd", "init", "d", "--handlers", ""],
      ["javascript", "python"],
    ],
    [
      ["agtp-keys", "genesis", "--archetype", "a"],
      ["assistant", "analyst"],
    ],
    [["agtpd", "client", "agtp://localhost", "DES"], ["DESCRIBE"]],
    [["agtpd", "client", "agtp://localhost", "BO"], ["BOOK"]],
    [["agtpd", "client", "agtp://localhost", "BOOK", "/r"], ["/rooms/{id}"]],
    [
      ["agtp-keys", "verify", "--agent", ""],
      [ALICE, BOB],
    ],
  ])("completes %j in bash", async (words, expected) => {
    const list = words.map((word) => `'${word}'`).join(" ");
    const ask = `COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _agtpd_complete; echo "\${COMPREPLY[@]}"`;
    expect(offered("bash", `${await script("bash")}\n${ask}`)).toEqual(expected);
  });

  it.each(["$(touch made)", "`touch made`", "/x$(touch$IFS$PWD/made)", "/x;touch made", "/*"])(
    "offers and carries out nothing of the path %j, which somebody else may have written",
    async (path) => {
      const endpoint = `[endpoint]\nmethod = "BOOK"\npath = ${JSON.stringify(path)}\n`;
      const place = makeDirectory({ "endpoints/theirs.toml": endpoint });
      const ask = `COMP_WORDS=(agtpd client agtp://localhost ''); COMP_CWORD=3; _agtpd_complete; echo "\${COMPREPLY[@]}"; ls`;
      const run = offered("bash", `${await script("bash")}\n${ask}`, place);
      expect(run?.slice(-3)).toEqual(["-h", "BOOK", "endpoints"]);
    },
  );

  it("leaves files to bash, which knows how names with spaces are written", async () => {
    const place = makeDirectory({ "my shop/agtp-server.toml": "" });
    const ask = `COMP_WORDS=(agtpd --config my); COMP_CWORD=2; _agtpd_complete; echo "\${#COMPREPLY[@]}"; complete -p agtpd`;
    const run = offered("bash", `${await script("bash")}\n${ask}`, place);
    expect(run?.slice(0, 3)).toEqual(["0", "complete", "-o"]);
    expect(run).toContain("default");
  });

  it("is a script that zsh and fish can read, where they are", async () => {
    const zsh = offered("zsh", `autoload -U compinit; compinit -u -D\n${await script("zsh")}`);
    expect(zsh ?? []).toEqual([]);
    const ask = 'complete -C "agtpd login --role v"; complete -C "agtp-quoting --out"';
    const fish = offered("fish", `${await script("fish")}\n${ask}`);
    if (fish !== undefined) expect(fish.join(" ")).toMatch(/^viewer .*--output .*the user's own$/);
  });

  it("says which shells there are", async () => {
    const none = completionCommand(() => Promise.resolve([]));
    const { exitCode, err } = await runIn(makeDirectory(), none, ["csh"]);
    expect(exitCode).toBe(2);
    expect(err).toContain("bash, zsh, fish");
  });
});

describe("agtpd", () => {
  it("asks whether a command of another name was meant", async () => {
    const program = daemonProgram(async () => undefined);
    const { exitCode, err } = await runIn(makeDirectory(), program, ["inti"]);
    expect(exitCode).toBe(2);
    expect(err).toContain("unknown command 'inti'\n(Did you mean init?)");
  });

  it("is the client as well", async () => {
    const program = daemonProgram(async () => undefined);
    const { exitCode, out } = await runIn(makeDirectory(), program, ["client", "--help"]);
    expect(exitCode).toBe(0);
    expect(out).toContain("Usage: agtp [options] <uri>");
  });
});
