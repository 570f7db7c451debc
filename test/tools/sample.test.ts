/** The sample starts whatever other programs listen on its ports, and its order desk is found. */
import { once } from "node:events";
import { cpSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createLog } from "../../src/base/log.ts";
import { agtpProgram } from "../../src/programs/agtp/command.ts";
import { startSample } from "../../tools/sample.ts";
import { makeDirectory } from "../support/directory.ts";
import { CONCIERGE } from "../support/pictured-house.ts";
import { ROOT } from "../support/source-tree.ts";
import { runIn } from "../support/terminal.ts";

/** Has a port taken: by this test, or by whoever had it before. */
async function take(port: number): Promise<void> {
  const server = createServer().listen(port, "127.0.0.1");
  await Promise.race([once(server, "listening"), once(server, "error")]).catch(() => undefined);
  onTestFinished(() => void server.close());
}

it("uses free ports where the sample's are taken, and the one that is printed works", async () => {
  await Promise.all([take(4480), take(4481)]);
  const root = makeDirectory();
  for (const name of ["agents", "catalog", "endpoints", "recipes", "agtp-server.toml"]) {
    cpSync(join(ROOT, name), join(root, name), { recursive: true });
  }
  // The sample's MCP server takes the library from there.
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  const told: string[] = [];
  const log = createLog("silent", { write: () => undefined, flush: () => Promise.resolve() });
  const { PATH, HOME } = process.env;
  const tell = (line: string) => void told.push(line);
  const sample = await startSample({ root, env: { PATH, HOME }, log, tell });
  if (sample.kind === "refused") throw new Error(JSON.stringify(sample.problems));
  onTestFinished(async () => {
    await sample.daemon.drain();
    await sample.close();
  });
  expect(told).toEqual([
    "port 4481 of the order desk is taken: a free one is used",
    "the sample's port is taken: a free one is used",
  ]);
  const order = { reservation_id: "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42", item: "flowers" };
  const { exitCode, out, err } = await runIn(root, agtpProgram, [
    ...[`agtp://localhost:${sample.daemon.port}`, "CREATE", "/orders"],
    ...["--agent-id", CONCIERGE, "-d", JSON.stringify(order)],
  ]);
  expect([exitCode, err]).toEqual([0, ""]);
  expect(JSON.parse(out)).toMatchObject({ item: "flowers" });
});
