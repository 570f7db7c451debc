/** A worker of `agtpd`, which its parent starts: it ends with that, and with nobody else. */
import { serveParent } from "../src/app/workers/worker.ts";
import { openWorkerChannel } from "../src/server/worker-channel.ts";
import { STORE_FAULTS } from "../src/state/sharing/link-faults.ts";
import { ignoreDebugger } from "./daemon-signals.ts";
import { moveConsole } from "./log-sink.ts";

moveConsole();
const channel = openWorkerChannel(STORE_FAULTS);
// A terminal and a supervisor signal all processes of a daemon; the parent tells its workers.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
ignoreDebugger();
// Without its parent a worker keeps nothing, and so it answers nobody.
void channel.abandoned.then(() => process.exit(1));
serveParent(channel, process.env);
