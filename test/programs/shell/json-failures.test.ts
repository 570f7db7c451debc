/** Programs that print JSON, where there is nothing to print: a reader of JSON is told so. */
import { describe, expect, it } from "vitest";
import type { Command } from "../../../src/programs/shell/command.ts";
import { daemonProgram } from "../../../tools/agtpd-program.ts";
import { otherPrograms } from "../../../tools/other-programs.ts";
import { makeDirectory } from "../../support/directory.ts";
import { runIn } from "../../support/terminal.ts";

interface Call {
  readonly program: Command;
  readonly words: readonly string[];
  readonly command: Command;
}

async function callsOf(
  program: Command,
  command: Command = program,
  words: readonly string[] = [],
): Promise<readonly Call[]> {
  const below = await Promise.all([
    ...(command.commands ?? []).map((one) => callsOf(program, one, [...words, one.name])),
    ...(command.programs ?? []).map(async ({ name, load }) =>
      callsOf(program, await load(), [...words, name]),
    ),
  ]);
  const isJson = Object.keys(command.options ?? {}).includes("--json");
  return [...(isJson ? [{ program, command, words }] : []), ...below.flat()];
}

/** A command line that can be understood, about what is not there. */
function wordsOf({ words, command: { args = {}, options = {} } }: Call): readonly string[] {
  const required = Object.entries(options).flatMap(([flags, details]) => {
    if (typeof details === "string" || details.isRequired !== true) return [];
    const [flag = ""] = /--[a-z-]+/.exec(flags) ?? [];
    return [flag, details.choices?.[0] ?? "no/such"];
  });
  const named = Object.keys(args).map(() => "no/such");
  return [...words, ...named, ...required, "--json"];
}

/** The daemon itself, and commands that make something wherever they are called. */
const SUCCEEDING: ReadonlySet<string> = new Set(["--json", "init", "signing", "agent-ca"]);

/** Commands that look at their arguments before the configuration: two catalogs, an MCP server. */
const ASKING: ReadonlySet<string> = new Set(["no/such", "import"]);

const programs = [daemonProgram(async () => undefined), ...(await otherPrograms())];
// agtp-rpc says what went wrong as JSON on standard error, as agentcli does.
const asked = programs.filter(({ name }) => name !== "agtp-rpc");
const calls = (await Promise.all(asked.map((program) => callsOf(program)))).flat();
const lines = calls
  .map((call) => ({
    ...{ program: call.program, words: wordsOf(call) },
    isOfDeployment: Object.keys(call.command.options ?? {}).includes("--config <file>"),
  }))
  .filter(({ words: [first = ""] }) => !SUCCEEDING.has(first));

describe("a command whose --json has nothing to print", () => {
  it("is one of many", () => {
    expect(lines.length).toBeGreaterThan(20);
  });

  it.each(
    lines.map(
      ({ program, words }) => [`${program.name} ${words.join(" ")}`, program, words] as const,
    ),
  )("says why on standard output, too: %s", async (_, program, words) => {
    const { exitCode, out } = await runIn(makeDirectory(), program, words);
    expect(exitCode).toBeGreaterThan(0);
    const { ok, problems } = JSON.parse(out);
    expect(ok).toBe(false);
    expect(problems[0].message).toMatch(/./);
  });

  it.each(
    lines
      .filter(({ isOfDeployment, words: [first = ""] }) => isOfDeployment && !ASKING.has(first))
      .map(({ program, words }) => [`${program.name} ${words.join(" ")}`, program, words] as const),
  )("names the configuration that is not there: %s", async (_, program, words) => {
    const { exitCode, out } = await runIn(makeDirectory(), program, words);
    expect(exitCode).toBe(2);
    expect(JSON.parse(out).problems).toMatchObject([{ file: "agtp-server.toml" }]);
  });
});
