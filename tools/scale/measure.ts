/** Runs the daemon in a process of its own, asks it everything, and reloads it. */

import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { AgtpClient } from "../../src/client/agtp-client.ts";
import { createClient } from "../../src/client/client.ts";
import { type ScaleDaemon, startScaleDaemon } from "./daemon-process.ts";
import { type Extent, writeScaleDeployment } from "./deployment.ts";
import type { LoopUse } from "./loop-probe.ts";
import { SCALE_REQUESTS, type ScaleRequest } from "./requests.ts";

/** Options of a measurement. */
export interface ScaleRun extends Extent {
  readonly rounds: number;
  readonly only: string | undefined;
}

interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** Answers with a table: one row a kind of request, one for a reload, one for the start. */
export async function measureScale(directory: string, tls: Tls, run: ScaleRun): Promise<string> {
  const config = writeScaleDeployment(directory, tls, run);
  cpSync(new URL("../../../catalog", import.meta.url), join(directory, "catalog"), {
    recursive: true,
  });
  const daemon = await startScaleDaemon(config);
  const client = createClient({
    ...{ host: "127.0.0.1", port: daemon.port, ca: readFileSync(tls.cert, "utf8") },
    ...{ rejectUnauthorized: false, timeoutMs: 120_000 },
    limits: { headBytes: 65_536, bodyBytes: 256 * 1024 * 1024 },
  });
  try {
    const lines = [row("", "status", "median ms", "worst ms", "slice ms", "held")];
    const start = await settle(daemon);
    lines.push(row("start", "", "", ms(start.cpuMs), ms(start.longestMs), start.heldTurns));
    for (const request of SCALE_REQUESTS) {
      if (run.only !== undefined && !request.label.includes(run.only)) continue;
      const line = await measure(request, client, daemon, run.rounds);
      process.stderr.write(`${line}\n`);
      lines.push(line);
    }
    lines.push(await measureReload(daemon));
    return `${lines.join("\n")}\n`;
  } finally {
    await client.close();
    daemon.child.kill("SIGKILL");
  }
}

/** Waits until the daemon has nothing to do. */
async function settle(daemon: ScaleDaemon): Promise<LoopUse> {
  let use = await daemon.use();
  let longestMs = 0;
  let heldTurns = 0;
  for (;;) {
    await delay(400);
    const later = await daemon.use();
    longestMs = Math.max(longestMs, later.longestMs);
    heldTurns += later.heldTurns;
    if (later.cpuMs - use.cpuMs < 20) return { cpuMs: later.cpuMs, longestMs, heldTurns };
    use = later;
  }
}

async function measure(
  request: ScaleRequest,
  client: AgtpClient,
  daemon: ScaleDaemon,
  rounds: number,
): Promise<string> {
  const costs: number[] = [];
  let longestMs = 0;
  let heldTurns = 0;
  let status = 0;
  for (let round = 0; round < rounds; round += 1) {
    const before = await daemon.use();
    status = (await client.request(request.make(round))).status;
    const after = await daemon.use();
    costs.push(after.cpuMs - before.cpuMs);
    longestMs = Math.max(longestMs, after.longestMs);
    heldTurns += after.heldTurns;
  }
  costs.sort((a, b) => a - b);
  const middle = costs[Math.floor(costs.length / 2)] ?? 0;
  return row(request.label, status, ms(middle), ms(costs.at(-1) ?? 0), ms(longestMs), heldTurns);
}

async function measureReload(daemon: ScaleDaemon): Promise<string> {
  const before = await daemon.use();
  const reloaded = Promise.race([daemon.said("reloaded"), daemon.said("reload-refused")]);
  daemon.child.kill("SIGHUP");
  await reloaded;
  const now = await daemon.use();
  const after = await settle(daemon);
  const longestMs = Math.max(now.longestMs, after.longestMs);
  const held = now.heldTurns + after.heldTurns;
  return row("reload", "", "", ms(after.cpuMs - before.cpuMs), ms(longestMs), held);
}

function ms(value: number): string {
  return value.toFixed(1);
}

function row(label: string, ...cells: readonly (string | number)[]): string {
  return label.padEnd(36) + cells.map((cell) => String(cell).padStart(11)).join("");
}
