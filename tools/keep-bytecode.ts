/**
 * Part of the build: runs the daemon on a new deployment, calls it as agents do, and keeps the bytecode of
 * whatever ran, beside each file. The daemon runs in a process of its own, with the flags that it always has.
 */
import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { join, parse } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { createClient } from "../src/client/client.ts";
import { daemonFlags } from "./daemon-flags.ts";
import { bytecodeOf, ENTRIES, FOLDER, loadDaemon, loadedScripts } from "./load-daemon.ts";
import { processTerminal } from "./process-terminal.ts";
import { inScratch } from "./scratch.ts";

const PROGRAM = fileURLToPath(new URL("./agtpd.js", import.meta.url));
const ITSELF = fileURLToPath(import.meta.url);

/** Of all calls: what runs but once may be taken for rare. */
const ROUNDS = 20;

const [config] = process.argv.slice(2);
if (config === undefined) await callDaemon();
else await runDaemon(config);

/** In the process of the daemon, until it is told that it was called enough. */
async function runDaemon(path: string): Promise<void> {
  const daemon = loadDaemon("agtpd-daemon") as typeof import("./agtpd-daemon.ts");
  process.once("disconnect", () => process.exit(1));
  process.once("message", () => {
    // A file that this deployment had no use for is loaded, and keeps what that runs.
    for (const file of readdirSync(FOLDER)) {
      const { name, ext } = parse(file);
      if (ext === ".cjs" && !ENTRIES.includes(name)) loadDaemon(name);
    }
    for (const [path, script] of loadedScripts())
      writeFileSync(bytecodeOf(path), script.createCachedData());
    process.exit(0);
  });
  await daemon.runDaemon({ config: path, port: 0, logLevel: "info" }, processTerminal());
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
    if (typeof port === "number") await makeCalls(port, JSON.parse(made.toString()).agent_id);
    if (child.connected) child.send("keep");
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

/** Calls that are served and calls that are refused, on new connections and on kept ones. */
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
