/** A daemon in a process of its own, with the probe in it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { daemonFlags } from "../daemon-flags.ts";
import type { LoopUse } from "./loop-probe.ts";

/** A daemon that listens. */
export interface ScaleDaemon {
  readonly child: ChildProcess;
  readonly port: number;
  use(): Promise<LoopUse>;
  /** Resolves with the next line of the event. */
  said(event: string): Promise<void>;
}

/** Starts it, and waits until it listens. */
export async function startScaleDaemon(config: string): Promise<ScaleDaemon> {
  const probe = new URL("./loop-probe.js", import.meta.url).href;
  const program = fileURLToPath(new URL("../agtpd.js", import.meta.url));
  const child = spawn(
    process.execPath,
    [
      ...daemonFlags(program),
      ...["--import", probe, program, "--config", config, "--port", "0", "--log-level", "info"],
    ],
    { stdio: ["ignore", "pipe", "inherit", "ipc"] },
  );
  const waiting = new Map<string, (line: { readonly port?: number }) => void>();
  const next = (event: string): Promise<{ readonly port?: number }> =>
    new Promise((resolve) => waiting.set(event, resolve));
  const listening = next("listening");
  if (child.stdout === null) throw new Error("the daemon has no output");
  createInterface({ input: child.stdout }).on("line", (line) => {
    const said = JSON.parse(line) as { readonly event: string; readonly port?: number };
    waiting.get(said.event)?.(said);
  });
  const { port } = await Promise.race([
    listening,
    once(child, "exit").then(() => {
      throw new Error("the daemon ended instead of listening");
    }),
  ]);
  return {
    child,
    port: port ?? 0,
    use: async () => {
      const answer = once(child, "message") as Promise<[LoopUse]>;
      child.send("use");
      return (await answer)[0];
    },
    said: async (event) => void (await next(event)),
  };
}
