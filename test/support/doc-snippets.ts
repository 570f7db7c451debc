/** The blocks of code of the documentation, and what the programs that they name understand. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type CompletedCommand,
  completedCommands,
} from "../../src/programs/editors/completion-command.ts";
import { daemonProgram } from "../../tools/agtpd-program.ts";
import { otherPrograms } from "../../tools/other-programs.ts";
import { RUN_PAGES } from "./doc-guides.ts";
import { ROOT } from "./source-tree.ts";

/** A block of code. */
export interface Snippet {
  readonly page: string;
  /** The word behind the fence; "" where there is none. */
  readonly kind: string;
  readonly text: string;
}

const DOCS = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name.replaceAll("\\", "/")}`);

/** Every page that a user reads. */
export const PAGES: readonly string[] = [
  ...["README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"],
  ...DOCS,
  ...[...RUN_PAGES].filter((page) => page.startsWith("examples/")),
];

/** The blocks of a page, in their order. */
export function snippetsOf(page: string): readonly Snippet[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/^```(\S*)[^\n]*\n([\s\S]*?)^```$/gm)].map(
    ([, kind = "", body = ""]) => {
      return { page, kind, text: body };
    },
  );
}

/** Commands in running text: a program of ours with words behind it. */
export function commandsInProse(page: string): readonly string[] {
  const prose = readFileSync(join(ROOT, page), "utf8").replace(/^```[\s\S]*?^```$/gm, "");
  return [...prose.matchAll(/`(agtp[a-z-]* [^`]+)`/g)].map(([, command = ""]) => command);
}

let known: Promise<readonly CompletedCommand[]> | undefined;

/** What a command line has that its program does not: the program itself, or flags. */
export async function misunderstood(line: string): Promise<readonly string[]> {
  known ??= everyCommand();
  const [name = "", ...words] = line
    .replace(/ # .*$/, "")
    .split(/[\s=|[\]…()]+/)
    .filter((word) => word !== "");
  const commands = await known;
  const find = (path: string) => commands.find((one) => one.words === path);
  let found = find(name);
  if (found === undefined) return [name];
  const flags = new Set<string>(["--version"]);
  for (const word of words) {
    for (const option of found.options) for (const flag of option.flags) flags.add(flag);
    const below = find(`${found.words} ${word}`);
    if (below === undefined) break;
    found = below;
  }
  for (const option of found.options) for (const flag of option.flags) flags.add(flag);
  return words.filter((word) => /^--[a-z]/.test(word) && !flags.has(word));
}

async function everyCommand(): Promise<readonly CompletedCommand[]> {
  const programs = [daemonProgram(() => Promise.resolve(undefined)), ...(await otherPrograms())];
  return (await Promise.all(programs.map((one) => completedCommands(one)))).flat();
}
