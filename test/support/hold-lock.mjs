/** Takes the lock of a state directory with the built sources, says so, and keeps it. */
import { lockStateDirectory } from "../../dist/src/state/state-lock.js";

const { kind } = await lockStateDirectory(process.argv[2], "holder");
process.stdout.write(`${kind}\n`);
setInterval(() => undefined, 60_000);
