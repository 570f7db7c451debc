#!/usr/bin/env node
/**
 * `npm run scale`: what a request and a reload cost a daemon that serves very much, in CPU time, and
 * how long they hold its event loop at a time. It reports and never judges.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { ensureCertificate } from "../src/server/certificate.ts";
import { measureScale } from "./scale/measure.ts";

interface Options {
  readonly endpoints: string;
  readonly agents: string;
  readonly rounds: string;
  readonly only?: string;
}

const options = new Command("scale")
  .description("measures requests and reloads of a daemon with very many endpoints and agents")
  .option("--endpoints <count>", "endpoints to serve", "10000")
  .option("--agents <count>", "agents to host", "10000")
  .option("--rounds <count>", "requests of each kind", "11")
  .option("--only <text>", "only what has this text in its name")
  .parse()
  .opts<Options>();

const directory = mkdtempSync(join(tmpdir(), "agtpd-scale-"));
try {
  const tls = { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
  await ensureCertificate(directory);
  mkdirSync(join(directory, "deployment"), { recursive: true });
  const rows = await measureScale(join(directory, "deployment"), tls, {
    endpoints: Number(options.endpoints),
    agents: Number(options.agents),
    rounds: Number(options.rounds),
    only: options.only,
  });
  process.stdout.write(rows);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
