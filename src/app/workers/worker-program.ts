/** The program of a worker, which its parent starts: it ends with it, and with nobody else. */
import { openWorkerChannel } from "../../server/worker-channel.ts";
import { STORE_FAULTS } from "../../state/sharing/link-faults.ts";
import { serveParent } from "./worker.ts";

const channel = openWorkerChannel(STORE_FAULTS);
// A terminal and a supervisor signal all processes of a daemon; the parent tells its workers.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
// Without its parent a worker keeps nothing, and so it answers nobody.
void channel.abandoned.then(() => process.exit(1));
serveParent(channel);
