/** A worker of `agtpd`, started by its parent and ended with it. */
import { serveParent } from "../src/app/workers/worker.ts";
import { openWorkerChannel } from "../src/server/worker-channel.ts";
import { STORE_FAULTS } from "../src/state/sharing/link-faults.ts";
import { ignoreDebugger } from "./daemon-signals.ts";
import { moveConsole } from "./log-sink.ts";

moveConsole();
const channel = openWorkerChannel(STORE_FAULTS);
// Ignored here, because terminals and supervisors signal every process of a daemon; the parent tells its workers.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
ignoreDebugger();
// A worker has no store without its parent, so it cannot serve.
void channel.abandoned.then(() => process.exit(1));
serveParent(channel, process.env);
