/** Handler modules that are told of their end, over TLS.   AGTP-API §12.2 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openDaemon, type TestDaemon } from "../support/daemon.ts";
import { configFile, endpointFile } from "../support/deployment.ts";
import { bus, call, heard, serverFiles } from "../support/server-deployment.ts";

/** A pool that is opened at the top level, and says so when it is ended; its calls wait for `release ID`. */
function pool(name: string): string {
  return `
const bus = globalThis[Symbol.for("agtpd.test.bus")];
const ended = [];
bus.emit("opened ${name}", ended);
export const book = ({ input: { id } }) =>
  new Promise((resolve) => {
    bus.once("release " + id, () => resolve({ body: { open: ended.length === 0 } }));
    bus.emit("started " + id);
  });
export const onClose = async () => { ended.push("${name}"); };`;
}

const POOLED = endpointFile({
  ...{ method: "BOOK", path: "/pooled", properties: { id: { type: "string" } } },
  handler: { type: "registered_function", function: "pooled.book" },
});

/** What each pool of a name says of its end. */
function pools(name: string): readonly string[][] {
  const all: string[][] = [];
  bus.on(`opened ${name}`, (ended: string[]) => all.push(ended));
  return all;
}

function open(name: string): Promise<TestDaemon> {
  return openDaemon(serverFiles({}, { "pooled.mjs": pool(name), "endpoints/pooled.toml": POOLED }));
}

async function begin(server: TestDaemon, id: string) {
  const client = await server.connect();
  const started = heard("started", id);
  client.write(call("BOOK", "/pooled", { id }));
  await started;
  return client;
}

it("ends what a module has opened after a reload, with the last request that it serves", async () => {
  const opened = pools("reload");
  const server = await open("reload");
  const client = await begin(server, "before");
  expect(await server.daemon.reload()).toEqual([]);
  const next = await begin(server, "after");
  expect(opened).toEqual([[], []]);
  bus.emit("release before");
  expect((await client.replies(1))[0]?.body).toEqual({ open: true });
  expect(opened).toEqual([["reload"], []]);
  bus.emit("release after");
  expect((await next.replies(1))[0]?.body).toEqual({ open: true });
  await server.daemon.drain();
  expect(opened).toEqual([["reload"], ["reload"]]);
});

it("ends what a deployment has opened that is refused", async () => {
  const opened = pools("refused");
  const server = await open("refused");
  writeFileSync(join(server.directory, "endpoints/bad.toml"), "[endpoint]\nmethod = 1\n");
  expect(await server.daemon.reload()).not.toEqual([]);
  expect(opened).toEqual([[], ["refused"]]);
  rmSync(join(server.directory, "endpoints/bad.toml"));
  expect(await server.daemon.reload()).toEqual([]);
  expect(opened).toEqual([["refused"], ["refused"], []]);
});

it("serves nothing of a module whose end is no function, and says why", async () => {
  const files = {
    "pooled.mjs": `export const book = () => ({ body: {} });\nexport const onClose = 1;`,
    "endpoints/pooled.toml": POOLED,
    "agtp-server.toml": configFile({ server: { on_invalid: "skip" } }),
  };
  const server = await openDaemon(serverFiles({}, files));
  const problems = server.log.filter(({ event }) => event === "problem");
  expect(problems.map(({ file, key }) => ({ file, key }))).toContainEqual({
    file: "endpoints/pooled.toml",
    key: "endpoint.handler.function",
  });
});
