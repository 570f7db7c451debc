/** A deployment that is reloaded whenever its files change. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { DeploymentWatch } from "../../src/app/deployment-watch.ts";
import { askOnce, openDaemon } from "../support/daemon.ts";
import { createDirectory } from "../support/directory.ts";
import { PATIENCE } from "../support/patience.ts";
import { call, serverFiles } from "../support/server-deployment.ts";

const SELDOM = { ...PATIENCE, interval: 200 };

/** The changes that a watch has told so far; what is told meanwhile fails once. */
function watch(directory: string, root = directory) {
  const told: (readonly string[])[] = [];
  const watching = new DeploymentWatch({
    config: () => ({ directory, handlers: { root } }),
    onChange: async (files) => {
      told.push(files);
      if (told.length === 1) throw new Error("the first reload fails");
    },
    everyMs: 1,
  });
  onTestFinished(() => watching.close());
  return told;
}

it("tells of files that come, change and go, and of nothing that a deployment keeps or installs", async () => {
  const directory = createDirectory();
  const root = createDirectory();
  for (const name of ["endpoints", ".agtpd", "node_modules"]) mkdirSync(join(directory, name));
  const write = (name: string, text: string) => writeFileSync(join(directory, name), text);
  const told = watch(directory, root);
  // The first look is over once something is told; two that are alike have to fit between two writes.
  await vi.waitFor(() => {
    if (told.length === 0) write("probe.toml", String(performance.now()));
    expect(told.length).toBeGreaterThan(0);
  }, SELDOM);
  const seen = () => told.flat().filter((name) => name !== "probe.toml");
  write("endpoints/rooms.toml", "a = 1");
  await vi.waitFor(() => expect(seen()).toEqual(["endpoints/rooms.toml"]), PATIENCE);
  write(".agtpd/state.json", "{}");
  write("node_modules/one.js", "");
  write("rooms.db", "");
  rmSync(join(directory, "endpoints/rooms.toml"));
  await vi.waitFor(() => expect(seen()).toHaveLength(2), PATIENCE);
  writeFileSync(join(root, "handlers.mjs"), "");
  await vi.waitFor(() => expect(seen()).toHaveLength(3), PATIENCE);
  expect(seen().slice(0, 2)).toEqual(["endpoints/rooms.toml", "endpoints/rooms.toml"]);
  expect(seen()[2]).toMatch(/^\.\..*\/handlers\.mjs$/);
  // The variables that the configuration takes.
  write(".env", "TOKEN=1");
  await vi.waitFor(() => expect(seen()[3]).toBe(".env"), PATIENCE);
});

it("serves what is saved, keeps what was served where that is wrong, and says which files it was", async () => {
  const server = await openDaemon(serverFiles());
  const ask = async () => {
    const reply = await askOnce(server, call("QUERY", "/echoes", { number: 5 }));
    return reply?.body;
  };
  const save = (text: string) => writeFileSync(join(server.directory, "handlers.mjs"), text);
  const events = () => server.log.map(({ event }) => event);
  server.daemon.watch(20);
  await vi.waitFor(() => {
    if (events().includes("files-changed")) return;
    save(`const one = () => ({ body: { text: "saved" } }); // ${performance.now()}
export { one as echo, one as blob, one as wait, one as soon, one as later };`);
    expect(events()).toContain("files-changed");
  }, SELDOM);
  await vi.waitFor(async () => expect(await ask()).toEqual({ text: "saved" }), PATIENCE);
  save("export const none = 1;");
  await vi.waitFor(() => expect(events()).toContain("reload-refused"), PATIENCE);
  expect(await ask()).toEqual({ text: "saved" });
  const changed = server.log.filter(({ event }) => event === "files-changed");
  expect(changed.at(-1)).toMatchObject({ files: ["handlers.mjs"], count: 1 });
});
