/** A program and its arguments as one POSIX shell line, every part of it quoted. */
import type { ShellPayload } from "./task-plan.ts";

/**
 * The line that a scheduler hands to `sh -c`; it means exactly the program with these arguments.
 */
export function shellLine({ program, args, env, cwd, stdin }: ShellPayload): string {
  const variables = Object.keys(env)
    .toSorted()
    .map((name) => `${name}=${quote(env[name] ?? "")}`);
  const command = [...variables, ...[program, ...args].map(quote)].join(" ");
  const piped = stdin === null ? command : `printf %s ${quote(stdin)} | ${command}`;
  return cwd === null ? piped : `cd ${quote(cwd)} && ${piped}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}
