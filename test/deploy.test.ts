/** The units of deploy/: what they call is there, and what they open is nothing by default. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { VERSION } from "../src/base/version.ts";
import { initCommand } from "../src/programs/init/command.ts";
import { runProgram } from "../src/programs/shell/run-program.ts";
import { daemonProgram } from "../tools/agtpd-program.ts";
import { startProgram } from "./support/agtpd.ts";
import { makeDirectory } from "./support/directory.ts";
import { keepingTerminal, runIn } from "./support/terminal.ts";

function read(name: string): string {
  return readFileSync(join("deploy", name), "utf8");
}

/** The values of a key, in the order of a unit. */
function valuesOf(unit: string, key: string): readonly string[] {
  return [...unit.matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].map(([, value = ""]) => value);
}

/** The exit code of `--help` behind the words of a command: 2 where there is no such option. */
async function understood(words: readonly string[]): Promise<number> {
  const program = daemonProgram(() => Promise.resolve(undefined));
  return await runProgram(program, [...words, "--help"], keepingTerminal(makeDirectory()));
}

describe("deploy/agtpd.service", () => {
  const unit = read("agtpd.service");

  it("checks, starts and reloads with commands that there are", async () => {
    const commands = ["ExecStartPre", "ExecStart", "ExecReload"].flatMap((key) =>
      valuesOf(unit, key),
    );
    expect(commands).toEqual(["/usr/bin/agtpd --check", "/usr/bin/agtpd", "/usr/bin/agtpd reload"]);
    for (const command of commands) {
      expect(await understood(command.split(" ").slice(1)), command).toBe(0);
    }
    expect(valuesOf(unit, "Type")).toEqual(["exec"]);
    expect(valuesOf(unit, "User")).toEqual(["agtpd"]);
  });

  it("waits longer for a drain than the daemon takes for it by default", () => {
    const [seconds] = valuesOf(unit, "TimeoutStopSec");
    expect(Number(seconds)).toBeGreaterThan(10);
  });

  it("is one that systemd takes, and finds little to say about, where it is", ({ skip }) => {
    const file = join(makeDirectory(), "agtpd.service");
    const here = unit.replaceAll("/usr/bin/agtpd", process.execPath);
    writeFileSync(file, here.replace(/^(User|Group)=.*$/gm, "$1=root"));
    const verified = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
    if (verified.error !== undefined) skip("there is no systemd-analyze");
    expect([verified.status, verified.stderr]).toEqual([0, ""]);
    const args = ["security", "--offline=true", "--threshold=25", file];
    expect(spawnSync("systemd-analyze", args, { encoding: "utf8" }).status).toBe(0);
  });
});

describe("deploy/Containerfile", () => {
  const file = read("Containerfile");
  const last = file.slice(file.lastIndexOf("\nFROM "));

  it("installs this version on Node 24, without running scripts of packages", () => {
    expect(file).toContain("NODE_IMAGE=docker.io/library/node:24-");
    expect(file).toContain(`PACKAGE=agtpd@${VERSION}`);
    expect(file).toMatch(/npm install [^\n]*--omit=dev --ignore-scripts/);
  });

  it("runs as nobody's root, exposes nothing, and asks the daemon how it is", async () => {
    expect(last).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    expect(last).not.toMatch(/^EXPOSE/m);
    const check = /HEALTHCHECK [^[]*CMD (\[.*\])$/m.exec(last)?.[1] ?? "[]";
    const [program, ...words]: readonly string[] = JSON.parse(check);
    expect(program).toBe("agtpd");
    expect(await understood(words)).toBe(0);
  });
});

describe("deploy/compose.yaml and deploy/agtpd.container", () => {
  it("publish a port on loopback, over a root file system that is read-only", () => {
    const { services } = parse(read("compose.yaml"));
    expect(services.agtpd).toMatchObject({
      ports: ["127.0.0.1:4480:4480"],
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
    });
    const quadlet = read("agtpd.container");
    expect(valuesOf(quadlet, "PublishPort")).toEqual(["127.0.0.1:4480:4480"]);
    expect(valuesOf(quadlet, "ReadOnly")).toEqual(["true"]);
    expect(valuesOf(quadlet, "DropCapability")).toEqual(["all"]);
    expect(valuesOf(quadlet, "NoNewPrivileges")).toEqual(["true"]);
  });
});

describe("deploy/kubernetes.yaml", () => {
  const [deployment, service, budget] = parseAllDocuments(read("kubernetes.yaml")).map((one) =>
    one.toJS(),
  );
  const pod = deployment.spec.template.spec;
  const [container] = pod.containers;

  it("runs as nobody's root over a file system that is read-only, and opens nothing outside of the cluster", () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 10001, fsGroup: 10001 },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(service.spec).toMatchObject({ type: "ClusterIP", ports: [{ targetPort: "agtp" }] });
  });

  it("has its parts find each other", () => {
    const { labels } = deployment.spec.template.metadata;
    for (const { matchLabels } of [deployment.spec.selector, budget.spec.selector]) {
      expect(matchLabels).toEqual(labels);
    }
    expect(service.spec.selector).toEqual(labels);
    const names = (list: readonly { name: string }[]) => list.map(({ name }) => name).sort();
    expect(names(container.volumeMounts)).toEqual(names(pod.volumes));
    expect(names(container.ports)).toEqual(["agtp", "metrics"]);
  });

  it("gives a daemon enough: all but its state belongs to another", async ({ skip }) => {
    const { runAsUser: user, runAsGroup: group } = pod.securityContext;
    const asUser = ["--reuid", user, "--regid", group, "--clear-groups"].map(String);
    const program = resolve("dist/tools/agtpd.js");
    if (spawnSync("setpriv", [...asUser, "test", "-r", program]).status !== 0) {
      skip("no process of another user may be started here, or it cannot read this directory");
    }
    const directory = makeDirectory();
    chmodSync(directory, 0o755);
    await runIn(directory, initCommand(), ["shop", "--yes"]);
    const shop = join(directory, "shop");
    const key = readFileSync(join(shop, ".agtp/keys/signing.pem"));
    rmSync(join(shop, ".agtp"), { recursive: true });
    mkdirSync(join(shop, ".agtp"));
    chownSync(join(shop, ".agtp"), 0, group);
    chmodSync(join(shop, ".agtp"), 0o2777);
    // The kubelet writes a Secret so, and replaces it by another link.
    const written = join(shop, ".agtp/keys/..1");
    mkdirSync(written, { recursive: true });
    writeFileSync(join(written, "signing.pem"), key, { mode: pod.volumes[2].secret.defaultMode });
    chownSync(join(written, "signing.pem"), 0, group);
    symlinkSync("..1", join(shop, ".agtp/keys/..data"));
    symlinkSync("..data/signing.pem", join(shop, ".agtp/keys/signing.pem"));
    const before = `exec setpriv ${asUser.join(" ")} "$@"`;
    const daemon = await startProgram(join(shop, "agtp-server.toml"), { before });
    expect(statSync(join(shop, ".agtp/control.sock")).uid).toBe(user);
    daemon.child.kill("SIGTERM");
    expect((await daemon.outcome).code).toBe(0);
  });

  it("asks the daemon by commands that there are, and waits longer than it drains", async () => {
    const [program, ...words] = container.livenessProbe.exec.command;
    expect([program, await understood(words)]).toEqual(["agtpd", 0]);
    expect(container.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "metrics" });
    const pause = Number(container.lifecycle.preStop.exec.command[1]);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(pause + 10);
  });
});
