#!/usr/bin/env node
/**
 * `node examples/start.mjs NAME [flags of agtpd]`: makes what no repository should hold (the signing
 * key, the agents and operator of `example.json`), starts the upstream of an example that has one, and
 * then the daemon in the example's directory. A deployment of your own needs `agtpd` alone.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ensureCertificate } from "../dist/src/server/certificate.js";

const [name = "", ...flags] = process.argv.slice(2);
const directory = join(import.meta.dirname, name);
if (name === "" || !existsSync(join(directory, "example.json"))) {
  const names = readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
  console.error(`usage: node examples/start.mjs ${names.join(" | ")} [flags of agtpd]`);
  process.exit(2);
}

const { agents = {}, operator = false } = JSON.parse(read("example.json"));
const env = { ...process.env };

if (!existsSync(join(directory, ".agtp/keys/signing.pem"))) keys("signing");
for (const [agent, scope] of Object.entries(agents)) issue(agent, scope);
if (operator) {
  issue("operator", "");
  certify("operator");
  const { publicKey } = new X509Certificate(read(".agtp/keys/operator.cert.pem"));
  const der = publicKey.export({ type: "spki", format: "der" });
  env.OPERATOR = createHash("sha256").update(der).digest("hex");
}
if (existsSync(join(directory, "upstream.mjs"))) {
  const { start } = await import(join(directory, "upstream.mjs"));
  const certificate = await ensureCertificate(join(directory, ".agtp/upstream"));
  Object.assign(env, await start(certificate));
}

const program = join(import.meta.dirname, "../dist/tools/agtpd.js");
const daemon = spawn(process.execPath, [program, ...flags], {
  cwd: directory,
  env,
  stdio: "inherit",
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => daemon.kill(signal));
daemon.on("exit", (code) => process.exit(code ?? 1));

function read(file) {
  return readFileSync(join(directory, file), "utf8");
}

/** An agent of the server's own, once. */
function issue(agent, scope) {
  if (existsSync(join(directory, `agents/${agent}.agent.json`))) return;
  const whom = ["--name", agent, "--principal", "The example", "--owner-id", "example"];
  const key = ["--issuer-key", ".agtp/keys/signing.pem", "--agent-key"];
  keys("genesis", ...whom, ...key, "--trust-tier", "1", ...(scope ? ["--scope", scope] : []));
}

/** A certificate for an agent, by a CA of the example's. */
function certify(agent) {
  const keysOf = (file) => `.agtp/keys/${file}.pem`;
  if (existsSync(join(directory, keysOf(`${agent}.cert`)))) return;
  if (!existsSync(join(directory, keysOf("agents-ca")))) keys("agent-ca");
  const ca = ["--ca-cert", keysOf("agents-ca"), "--ca-key", keysOf("agents-ca-key")];
  keys("agent-cert", ...ca, "--genesis", `agents/${agent}.genesis.json`);
}

function keys(...args) {
  const tool = join(import.meta.dirname, "../dist/tools/agtp-keys.js");
  execFileSync(process.execPath, [tool, ...args], { cwd: directory, stdio: "ignore" });
}
