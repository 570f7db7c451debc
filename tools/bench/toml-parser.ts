/** Parses the files of a directory and reports readiness like a server: the minimum for any start that reads them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";

const [, , directory = "."] = process.argv;
const files = readdirSync(directory);
for (const name of files) parse(readFileSync(join(directory, name), "utf8"));
process.stdout.write(`${JSON.stringify({ event: "listening", port: 0, files: files.length })}\n`);
// Keeps running until its parent ends it.
setInterval(() => undefined, 60_000);
