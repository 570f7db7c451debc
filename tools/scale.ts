#!/usr/bin/env node
/**
 * `npm run scale`: measures requests and reloads of a very large deployment, in CPU time and in
 * blocking of the event loop. It reports without judging.
 */
import { command } from "../src/programs/shell/command.ts";
import { runHere } from "./process-terminal.ts";
import { measureScale } from "./scale/measure.ts";
import { inScratch } from "./scratch.ts";

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
    const extent = { endpoints: Number(endpoints), agents: Number(agents) };
    const run = { ...extent, rounds: Number(rounds), only };
    out.write(await inScratch((directory) => measureScale(directory, run)));
    return true;
  },
});

await runHere(PROGRAM);
