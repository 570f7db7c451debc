#!/usr/bin/env node
/**
 * `npm run scale`: what a request and a reload cost a daemon that serves very much, in CPU time, and
 * how long they hold its event loop at a time. It reports and never judges.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { command } from "../src/programs/shell/command.ts";
import { ensureCertificate } from "../src/server/certificate.ts";
import { runHere } from "./process-terminal.ts";
import { measureScale } from "./scale/measure.ts";

const PROGRAM = command({
  name: "scale",
  description: "measures requests and reloads of a daemon with very many endpoints and agents",
  options: {
    "--endpoints <count>": { help: "endpoints to serve", default: "10000" },
    "--agents <count>": { help: "agents to host", default: "10000" },
    "--rounds <count>": { help: "requests of each kind", default: "11" },
    "--only <text>": "only what has this text in its name",
  },
  run: async ({ endpoints, agents, rounds, only }, { out }) => {
    const directory = mkdtempSync(join(tmpdir(), "agtpd-scale-"));
    try {
      const tls = { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
      await ensureCertificate(directory);
      mkdirSync(join(directory, "deployment"), { recursive: true });
      const rows = await measureScale(join(directory, "deployment"), tls, {
        endpoints: Number(endpoints),
        agents: Number(agents),
        rounds: Number(rounds),
        only,
      });
      out.write(rows);
      return true;
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
});

await runHere(PROGRAM);
