/**
 * Runs a page of the documentation as a reader would: its blocks in order, in one terminal, with the
 * built programs. `sh` must succeed, in `refused` every line of a program must be refused, and `daemon` is
 * started and waited for, on a free port that stands for the one that the page names.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { daemonFlags } from "../../tools/daemon-flags.ts";
import { ROOT } from "./source-tree.ts";

const BLOCK = /^```(sh|daemon|refused)\n([\s\S]*?)^```$/gm;
const DEFAULT_PORT = "4480";
const LISTENERS = ["gateway_port", "metrics_port", "console_port"] as const;

/** Outputs of the blocks, standard error behind standard output. */
export interface PageRun {
  readonly outputs: readonly string[];
  readonly text: string;
}

interface PageOptions {
  /** The directory that the reader stands in. */
  readonly directory: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Changes a block before it is run. */
  readonly edit?: (text: string) => string;
}

/** Runs the page, relative to the root of the project; a block that does otherwise than it should throws. */
export function runPage(page: string, options: PageOptions): Promise<PageRun> {
  return runText(readFileSync(join(ROOT, page), "utf8"), options);
}

/** Runs a page that a test has put together. */
export async function runText(page: string, options: PageOptions): Promise<PageRun> {
  const reader = new Reader(options);
  try {
    for (const [, kind = "", block = ""] of page.matchAll(BLOCK)) {
      if (kind === "daemon") await reader.start(block);
      else await reader.run(block, kind === "refused");
    }
  } finally {
    reader.close();
  }
  return { outputs: reader.outputs, text: reader.outputs.join("\n") };
}

class Reader {
  readonly outputs: string[] = [];
  readonly #options: PageOptions;
  readonly #env: NodeJS.ProcessEnv;
  /** Ports that the page names, with those that they stand for. */
  readonly #ports = new Map<string, number>();
  readonly #daemons: ChildProcess[] = [];
  /** Directories and variables, which later commands have, as in one terminal. */
  #before = "";
  /** Where a block leaves its variables: what they are made of may have run programs. */
  readonly #variables: string;

  constructor(options: PageOptions) {
    this.#options = options;
    const programs = installPrograms(options.directory);
    this.#variables = join(programs, ".variables");
    const path = `${programs}:${process.env["PATH"]}`;
    this.#env = { ...process.env, ...options.env, PATH: path };
  }

  close(): void {
    for (const daemon of this.#daemons) endGroup(daemon);
  }

  async run(block: string, isRefused: boolean): Promise<void> {
    const here = this.#here(block);
    // Not by "!", which the shell forgives wherever it is not the last.
    const commands = isRefused ? here.replace(/^agtp\S* .*$/gm, NOT_REFUSED) : here;
    const names = (here.match(/^[A-Z]+(?==)/gm) ?? []).join(" ");
    const keep = names === "" ? "" : `declare -p ${names} > '${this.#variables}'`;
    const { status, out, err } = await this.#bash(`set -e\n${this.#before}\n${commands}\n${keep}`);
    if (status !== 0) throw new Error(`exit code ${status}:\n${block}\n${out}\n${err}`);
    this.outputs.push(out + err);
    this.#remember(here);
    if (names !== "") this.#before += readFileSync(this.#variables, "utf8");
  }

  async start(block: string): Promise<void> {
    const [, named = DEFAULT_PORT] = /--port (\d+)/.exec(block) ?? [];
    const command = this.#here(block)
      .replace(/ --port \d+/, "")
      .trim();
    for (const file of await this.#configurations()) {
      writeFileSync(file, readFileSync(file, "utf8").replace(/^port = \d+/gm, "port = 0"));
    }
    const script = `set -e\n${this.#before}\nexec ${command} --port 0`;
    const child = spawn("bash", ["-c", script], {
      ...{ cwd: this.#options.directory, env: this.#env, detached: true },
    });
    this.#daemons.push(child);
    const line = await readyLine(child);
    this.#ports.set(named, Number(line["port"]));
    for (const listener of LISTENERS) {
      const port = DEFAULTS[listener];
      if (line[listener] !== undefined) this.#ports.set(port, Number(line[listener]));
    }
  }

  /** The text with the ports that there are. */
  #here(block: string): string {
    const edited = this.#options.edit?.(block) ?? block;
    return edited.replace(
      /\b((?:localhost|127\.0\.0\.1)):(\d+)|agtp:\/\/localhost\b(?!:)/g,
      (whole: string, host: string | undefined, port = DEFAULT_PORT) => {
        const real = this.#ports.get(port);
        return real === undefined ? whole : `${host ?? "agtp://localhost"}:${real}`;
      },
    );
  }

  #remember(block: string): void {
    const lines = block.match(/^cd .*$/gm) ?? [];
    this.#before += lines.map((line) => `${line}\n`).join("");
  }

  /** The configuration that the reader stands at, if any. */
  async #configurations(): Promise<readonly string[]> {
    const { out } = await this.#bash(`${this.#before}\npwd`);
    const file = join(out.trim().split("\n").at(-1) ?? "", "agtp-server.toml");
    return existsSync(file) ? [file] : [];
  }

  /** Not waited for in the way of all others: an upstream of the test answers meanwhile. */
  async #bash(script: string): Promise<{ status: number | null; out: string; err: string }> {
    const child = spawn("bash", ["-c", script], {
      ...{ cwd: this.#options.directory, env: this.#env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = once(child, "close");
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [status] = await ended;
    return { status, out, err };
  }
}

const NOT_REFUSED = 'if $&\nthen echo "was not refused" >&2; exit 97; fi';

const DEFAULTS = { gateway_port: "8080", metrics_port: "9464", console_port: "4490" } as const;

/** A directory with the programs, as an installation has them on the path. */
function installPrograms(directory: string): string {
  const folder = join(directory, ".programs");
  mkdirSync(folder, { recursive: true });
  const { bin } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  for (const [name, program] of Object.entries(bin as Readonly<Record<string, string>>)) {
    const path = join(folder, name);
    const built = join(ROOT, program);
    const command = [process.execPath, ...daemonFlags(built), built].map((word) => `"${word}"`);
    writeFileSync(path, `#!/bin/sh\nexec ${command.join(" ")} "$@"\n`);
    chmodSync(path, 0o755);
  }
  return folder;
}

async function readyLine(child: ChildProcess): Promise<Readonly<Record<string, unknown>>> {
  let faults = "";
  child.stderr?.on("data", (chunk) => {
    faults += String(chunk);
  });
  let said = "";
  for await (const chunk of child.stdout ?? []) {
    said += String(chunk);
    const line = said.split("\n").find((one) => one.includes('"event":"listening"'));
    if (line?.endsWith("}")) {
      // Nobody reads on, and the log goes on being written.
      child.stdout?.resume();
      return JSON.parse(line);
    }
  }
  throw new Error(`the daemon ended: ${said}\n${faults}`);
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
