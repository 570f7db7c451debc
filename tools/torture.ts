#!/usr/bin/env node
/**
 * `npm run torture`: what an attacker and a bad day do to a daemon, on loopback, each against a
 * daemon of its own and for a bounded time, while another process asks it how it is. Exit 0: it held;
 * 1: it did not, and the report says where.   docs/torture.md
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { ensureCertificate } from "../src/server/certificate.ts";
import { writeDeployment } from "./bench/deployment.ts";
import type { Attack } from "./torture/attack.ts";
import * as connections from "./torture/connection-attacks.ts";
import { noDescriptors } from "./torture/descriptor-attack.ts";
import * as operations from "./torture/operation-attacks.ts";
import * as requests from "./torture/request-attacks.ts";
import { Heart, Victim } from "./torture/victim.ts";

const ATTACKS: readonly Attack[] = [
  ...[requests.dearRequests, requests.garbage, requests.abortedRequests],
  ...[connections.slowReaders, connections.idleConnections, connections.halfOpenHandshakes],
  ...[connections.keyUpdates, noDescriptors, connections.freshConnections],
  ...[operations.kill9, operations.reloads, operations.clockSteps],
];

interface Options {
  readonly seconds: number;
  readonly only: readonly Attack[];
  readonly maxStallMs: number;
  readonly endpoints: number;
}

interface Outcome {
  readonly name: string;
  readonly count: number;
  readonly stallMs: number;
  readonly ownMs: number;
  readonly fault: string | undefined;
}

async function main(): Promise<void> {
  const options = parseOptions();
  const outcomes: Outcome[] = [];
  for (const attack of options.only) {
    const outcome = await inDeployment((directory) => torture(attack, directory, options));
    outcomes.push(outcome);
    process.stdout.write(`${formatOutcome(outcome)}\n`);
  }
  const failed = outcomes.filter(({ fault }) => fault !== undefined);
  process.stdout.write(`${outcomes.length - failed.length} of ${outcomes.length} held\n`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

function parseOptions(): Options {
  const number = (text: string): number => {
    if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError("a whole number is expected");
    return Number(text);
  };
  const choose = (text: string): readonly Attack[] =>
    text.split(",").map((name) => {
      const found = ATTACKS.find((attack) => attack.name === name);
      if (found === undefined) throw new InvalidArgumentError(`"${name}" is no attack`);
      return found;
    });
  return new Command("torture")
    .description("attacks a daemon on loopback, and says whether it held")
    .option("--seconds <count>", "how long each attack lasts", number, 10)
    .option("--only <names>", ATTACKS.map(({ name }) => name).join(","), choose, ATTACKS)
    .option("--max-stall-ms <count>", "the longest that nobody may be answered", number, 1_000)
    .option("--endpoints <count>", "endpoints of the daemon", number, 500)
    .parse()
    .opts<Options>();
}

async function torture(attack: Attack, directory: string, options: Options): Promise<Outcome> {
  const tls = { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
  await ensureCertificate(directory);
  const config = writeDeployment(directory, options.endpoints, tls, "signed");
  const victim = new Victim(config, attack.options ?? {});
  const heart = new Heart();
  let count = 0;
  try {
    await victim.start();
    await heart.watch(victim.port);
    const end = performance.now() + options.seconds * 1_000;
    const found = await attack.run({
      ...{ victim, directory },
      goesOn: () => performance.now() < end && (victim.isAlive || attack.isRestarting === true),
      count: () => {
        count += 1;
      },
    });
    const { longestMs, ownMs } = await heart.pulse();
    const stallMs = Math.max(0, longestMs - ownMs);
    const isStalled = attack.isRestarting !== true && stallMs > options.maxStallMs;
    const stalled = isStalled ? "nobody was answered for too long" : undefined;
    const ended = (await victim.end("SIGTERM")) ? undefined : "it did not end in good order";
    return { name: attack.name, count, stallMs, ownMs, fault: found ?? stalled ?? ended };
  } finally {
    heart.stop();
    await victim.end("SIGKILL");
  }
}

function formatOutcome({ name, count, stallMs, ownMs, fault }: Outcome): string {
  const columns = [
    name.padEnd(22),
    String(count).padStart(8),
    `stall ${Math.round(stallMs)} ms`.padStart(16),
    `(own ${Math.round(ownMs)} ms)`.padStart(16),
  ];
  return `${columns.join(" ")}  ${fault === undefined ? "held" : `FAILED: ${fault}`}`;
}

async function inDeployment<T>(run: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "agtpd-torture-"));
  try {
    return await run(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

await main();
