/**
 * Opens the SQLite store at a path with the built driver and says how that went. Then it commits two
 * entries at a time, several commits at once, and prints the number of each that was acknowledged.
 */
import { openStore } from "../../dist/src/state/open-store.js";

const [path] = process.argv.slice(2);
const { store, problems } = await openStore({ driver: "sqlite", path }, "agtp-server.toml");
process.stdout.write(`${problems === undefined ? "open" : JSON.stringify(problems)}\n`);

async function commit(number) {
  const value = { number, padding: "x".repeat(500) };
  await store.commit([
    { kind: "put", collection: "left", key: `${number}`, value },
    { kind: "put", collection: "right", key: `${number}`, value },
  ]);
  process.stdout.write(`${number}\n`);
}

for (let number = 0; store !== undefined; number += 5) {
  await Promise.all([0, 1, 2, 3, 4].map((offset) => commit(number + offset)));
}
