#!/usr/bin/env -S node --min-semi-space-size=16 --max-semi-space-size=16
/** `agtpd`: reads its command line, and loads the daemon or the command that it asks for. */
import { daemonProgram } from "./agtpd-program.ts";
import { runHere } from "./process-terminal.ts";

await runHere(
  daemonProgram(async (line, terminal) => {
    const { runDaemon } = await import("./agtpd-daemon.ts");
    return runDaemon(line, terminal);
  }),
);
