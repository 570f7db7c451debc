/** The daemons that MCP's conformance suite tests: the deployments of `test/conformance`, completed in place. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { type StartResult, startDaemon } from "../../src/app/daemon.ts";
import { createLog } from "../../src/base/log.ts";

/** A daemon under test. */
export interface Subject {
  /** Precedes the version in the headings of the docs. */
  readonly heading: string;
  /** The deployment's path in the project. */
  readonly deployment: string;
  /** The servers behind it, whose tools are imported as an operator would. */
  readonly servers: readonly string[];
}

export const SUBJECTS: Readonly<Record<"itself" | "behind", Subject>> = {
  itself: { heading: "", deployment: "test/conformance/mcp", servers: [] },
  behind: {
    heading: "Through the daemon, ",
    deployment: "test/conformance/mcp-behind",
    servers: ["fixture"],
  },
};

/** Starts a subject in a directory, from the build of the project at `root`. */
export async function startSubject(
  root: string,
  { deployment, servers }: Subject,
  directory: string,
): Promise<StartResult> {
  cpSync(join(root, deployment), directory, { recursive: true });
  cpSync(join(root, "catalog"), join(directory, "catalog"), { recursive: true });
  const configPath = join(directory, "agtp-server.toml");
  const script = JSON.stringify(join(root, deployment, "server.mjs"));
  const config = readFileSync(configPath, "utf8").replace('"SERVER"', script);
  writeFileSync(configPath, config);
  for (const server of servers) importTools(root, directory, server);
  const log = createLog("error", { write: () => undefined, flush: () => Promise.resolve() });
  for (let attempt = 1; ; attempt += 1) {
    // Chosen before the daemon listens, because its configuration contains the suite's origin with the port.
    const port = String(await freePort());
    const known = config.replaceAll(PORTS, port);
    writeFileSync(configPath, known);
    const started = await startDaemon({ configPath, port: 0, env: process.env, log });
    // Another process may have taken the port meanwhile.
    const isTaken =
      started.kind === "refused" && started.problems.some(({ key }) => key === "gateway.port");
    if (!isTaken || attempt === ATTEMPTS) return started;
  }
}

const PORTS = /(?<=localhost:|127\.0\.0\.1:|enabled = true\nport = )0/g;
const ATTEMPTS = 3;

/** Imports a server's tools as endpoints, as an operator would. */
function importTools(root: string, directory: string, server: string): void {
  const program = join(root, "dist/tools/agtp-mcp.js");
  const args = [program, "import", server, "-o", "endpoints", "--keep-names"];
  execFileSync(process.execPath, args, { cwd: directory, stdio: "ignore" });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
