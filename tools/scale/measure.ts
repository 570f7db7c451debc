/** Runs the daemon in a separate process, sends it every kind of request, and reloads it. */

import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { AgtpClient } from "../../src/client/agtp-client.ts";
import { askControl } from "../../src/client/ask-control.ts";
import { createClient } from "../../src/client/client.ts";
import { controlPath } from "../../src/state/state-directory.ts";
import { type ServerProcess, startServer } from "../bench/server-process.ts";
import { makeCertificate } from "../scratch.ts";
import { type Extent, writeScaleDeployment } from "./deployment.ts";
import type { LoopUse } from "./loop-probe.ts";
import { SCALE_REQUESTS, type ScaleRequest } from "./requests.ts";

/** Options of a measurement. */
interface ScaleRun extends Extent {
  readonly rounds: number;
  readonly only: string | undefined;
}

/** Returns a table: a row for each kind of request, one for a reload, one for the start. */
export async function measureScale(directory: string, run: ScaleRun): Promise<string> {
  const tls = await makeCertificate(directory);
  const config = writeScaleDeployment(directory, tls, run);
  cpSync(new URL("../../../catalog", import.meta.url), join(directory, "catalog"), {
    recursive: true,
  });
  const daemon = await startServer(
    new URL("../agtpd.js", import.meta.url),
    ["--config", config],
    join(directory, "daemon.log"),
    new URL("./loop-probe.js", import.meta.url),
  );
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
    await daemon.close();
  }
}

function useOf(daemon: ServerProcess): Promise<LoopUse> {
  return daemon.ask("use");
}

/** Waits until the daemon is idle. */
async function settle(daemon: ServerProcess): Promise<LoopUse> {
  let use = await useOf(daemon);
  let longestMs = 0;
  let heldTurns = 0;
  for (;;) {
    await delay(400);
    const later = await useOf(daemon);
    longestMs = Math.max(longestMs, later.longestMs);
    heldTurns += later.heldTurns;
    if (later.cpuMs - use.cpuMs < 20) return { cpuMs: later.cpuMs, longestMs, heldTurns };
    use = later;
  }
}

async function measure(
  request: ScaleRequest,
  client: AgtpClient,
  daemon: ServerProcess,
  rounds: number,
): Promise<string> {
  const costs: number[] = [];
  let longestMs = 0;
  let heldTurns = 0;
  let status = 0;
  for (let round = 0; round < rounds; round += 1) {
    const before = await useOf(daemon);
    status = (await client.request(request.make(round))).status;
    const after = await useOf(daemon);
    costs.push(after.cpuMs - before.cpuMs);
    longestMs = Math.max(longestMs, after.longestMs);
    heldTurns += after.heldTurns;
  }
  costs.sort((a, b) => a - b);
  const middle = costs[Math.floor(costs.length / 2)] ?? 0;
  return row(request.label, status, ms(middle), ms(costs.at(-1) ?? 0), ms(longestMs), heldTurns);
}

async function measureReload(daemon: ServerProcess): Promise<string> {
  const before = await useOf(daemon);
  await askControl(controlPath(daemon.directory), JSON.stringify({ command: "reload" }));
  const now = await useOf(daemon);
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
