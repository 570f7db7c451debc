/** The container: built from deploy/Containerfile where there is a builder, and run as its image says. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { initCommand } from "../src/programs/init/command.ts";
import { buildah, buildImage, giveTo, hasBuilder } from "./support/container.ts";
import { createDirectory } from "./support/directory.ts";
import { runIn } from "./support/terminal.ts";

interface Configured {
  readonly User: string;
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly ExposedPorts?: object;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

it("is built, runs as nobody's root, and says how it is", async ({ skip }) => {
  if (!hasBuilder()) {
    console.warn(
      "SKIPPED: deploy/Containerfile is not built and not run, there is no buildah here",
    );
    skip("there is no buildah here");
  }
  const tag = `localhost/agtpd-test-${process.pid}`;
  const directory = createDirectory();
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  await buildImage(directory, tag);
  const container = await buildah("from", "--pull-never", tag);
  onTestFinished(async () => {
    await buildah("rm", container);
    await buildah("rmi", "--force", tag, `${tag}-node`);
  });
  const told = JSON.parse(await buildah("inspect", "--type", "image", tag));
  const image: Configured = told.Docker.config;
  expect(image).toMatchObject({ User: "10001:10001", WorkingDir: "/srv/agtp" });
  expect(image.ExposedPorts ?? {}).toEqual({});
  await runIn(directory, initCommand(), ["shop", "--yes"]);
  const shop = join(directory, "shop");
  await giveTo("10001:10001", shop);
  const run = (...words: readonly string[]) => [
    "run",
    "--isolation",
    "chroot",
    "--volume",
    `${shop}:/srv/agtp`,
    container,
    "--",
    ...words,
  ];
  const daemon = spawn("buildah", run(...image.Entrypoint, ...image.Cmd, "--port", "0"), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(daemon, "exit");
  onTestFinished(() => void daemon.kill());
  let log = "";
  await new Promise<void>((resolve) => {
    daemon.stdout.on("data", (chunk) => {
      log += String(chunk);
      if (log.includes('"event":"listening"')) resolve();
    });
    daemon.once("exit", () => resolve());
  });
  expect(log).toContain('"event":"listening"');
  const [kind, ...health] = image.Healthcheck.Test;
  expect([kind, health[0]]).toEqual(["CMD", "agtpd"]);
  expect(await buildah(...run(...health))).toMatch(/^ready +true$/m);
  const place =
    "try { fs.writeFileSync('/opt/agtpd/x', '') } catch ({ code }) { console.log(code) }";
  expect(await buildah(...run("node", "-e", place))).toBe("EACCES");
  await buildah(...run("agtpd", "stop", ...image.Cmd));
  expect((await ended)[0]).toBe(0);
}, 300_000);
