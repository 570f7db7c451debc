/**
 * Build step: runs the daemon on a new deployment, calls it as agents do, runs the other programs,
 * and stores the bytecode of all executed files beside them. This happens in a separate process
 * with the usual flags.
 */
import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { dirname, join, parse } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { createClient } from "../src/client/client.ts";
import { daemonFlags } from "./daemon-flags.ts";
import { bytecodeOf, FOLDER, loadBundled, loadedScripts } from "./load-bundle.ts";
import { OTHER_PROGRAMS } from "./other-programs.ts";
import { processTerminal } from "./process-terminal.ts";
import { inScratch } from "./scratch.ts";

/** The only file with an effect on loading: it ends without a daemon. */
const WORKER = "agtpd-worker";
const PROGRAM = fileURLToPath(new URL("./agtpd.js", import.meta.url));
const ITSELF = fileURLToPath(import.meta.url);

/** Repeated calls, because code that runs once might be considered rare. */
const ROUNDS = 20;

type Line = readonly [program: string, ...args: string[]];

const [config] = process.argv.slice(2);
if (config === undefined) await callDaemon();
else await runDaemon(config);

/** Runs the daemon in this process until its parent has made the calls and sends the programs to run. */
async function runDaemon(path: string): Promise<void> {
  const daemon = loadBundled("agtpd-daemon") as typeof import("./agtpd-daemon.ts");
  process.once("disconnect", () => process.exit(1));
  process.once("message", (lines: readonly Line[]) => {
    runPrograms(lines, dirname(path))
      .then(keepBytecode)
      .catch((error: unknown) => {
        console.error(error);
        process.exit(1);
      });
  });
  await daemon.runDaemon({ config: path, port: 0, logLevel: "info" }, processTerminal());
}

async function runPrograms(lines: readonly Line[], directory: string): Promise<void> {
  const { runOn } = loadBundled("programs") as typeof import("./programs.ts");
  const { err, ...terminal } = processTerminal();
  const silent = { ...err, write: () => undefined };
  for (const [name, ...args] of lines) {
    const code = await runOn({ ...terminal, directory, out: silent, err: silent }, name, args);
    // Findings of `doctor` do not fail the build.
    if (code > 1) throw new Error(`${name} ${args.join(" ")} ended with ${code}`);
  }
}

function keepBytecode(): void {
  // Files that nothing has used are loaded, to keep the bytecode of that.
  for (const file of readdirSync(FOLDER)) {
    const { name, ext } = parse(file);
    if (ext === ".cjs" && name !== WORKER) loadBundled(name);
  }
  for (const [path, script] of loadedScripts())
    writeFileSync(bytecodeOf(path), script.createCachedData());
  process.exit(0);
}

function callDaemon(): Promise<void> {
  return inScratch(async (directory) => {
    const deployment = join(directory, "new");
    const flags = daemonFlags(PROGRAM);
    const made = execFileSync(process.execPath, [PROGRAM, "init", deployment, "--yes", "--json"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const child = fork(ITSELF, [join(deployment, "agtp-server.toml")], {
      execArgv: [...flags],
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    const ended = once(child, "exit");
    const port = await Promise.race([listeningPort(child.stdout as Readable), ended]);
    const agent: string = JSON.parse(made.toString()).agent_id;
    if (typeof port === "number") {
      await makeCalls(port, agent);
      child.send(programLines(`agtp://127.0.0.1:${port}`, agent));
    }
    const [code] = await ended;
    if (code !== 0) throw new Error(`the daemon ended with ${code}, and its bytecode is not kept`);
  });
}

async function listeningPort(log: Readable): Promise<number> {
  for await (const line of createInterface(log)) {
    const { event, port } = JSON.parse(line) as { readonly event?: string; readonly port: number };
    if (event === "listening") return port;
  }
  throw new Error("the daemon does not listen");
}

/** Common command lines of the programs, and their help. */
function programLines(uri: string, agent: string): readonly Line[] {
  const catalog = "catalog/methods.json";
  return [
    ["agtp", uri, "QUERY", "/items/tea", "--agent-id", agent],
    ["agtp-keys", "verify", "agents/guide.genesis.json", "agents/guide.agent.json"],
    ["agtp-keys", "verify", "--chain", ".agtp/journal", "--agent", agent],
    ["agtp-manifest", uri],
    ["agtp-conformance", uri, "--agent-id", agent, "--only", "5.1"],
    ["agtp-openapi", "export"],
    ["agtp-catalog-diff", catalog, catalog, "--against-deployment", "."],
    ["agtpd", "doctor"],
    ["agtpd", "status"],
    ...[...Object.keys(OTHER_PROGRAMS), "agtpd"].map((name) => [name, "--help"] as const),
  ];
}

/** Makes served and refused calls, on new and on kept connections. */
async function makeCalls(port: number, agentId: string): Promise<void> {
  const peer = { host: "127.0.0.1", port, rejectUnauthorized: false };
  const calls = [
    { method: "QUERY", path: "/items/tea" },
    { method: "QUERY", path: "/items/TEA" },
    { method: "QUERY", path: "/nothing" },
    { method: "BOOK", path: "/items/tea" },
    { method: "NEVER", path: "/items/tea" },
    { method: "DISCOVER", path: "/methods" },
  ];
  for (let round = 0; round < ROUNDS; round += 1) {
    const client = createClient(peer);
    await Promise.all(calls.map((call) => client.request({ ...call, agentId })));
    await client.close();
  }
}
