/** The daemons that MCP's suite is run against: the deployments of `test/conformance`, completed where they lie. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { type StartResult, startDaemon } from "../../src/app/daemon.ts";
import { createLog } from "../../src/base/log.ts";

/** Whom the suite is run against. */
export interface Subject {
  /** In front of the version, in the headings of the docs. */
  readonly heading: string;
  /** The deployment, below the project. */
  readonly deployment: string;
  /** The servers behind it, whose tools an operator would import. */
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

/** Starts a subject in a directory, of the project at `root` as it is built there. */
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
    // The suite's own origin has the port in it, and is told before the daemon listens.
    const port = String(await freePort());
    const known = config.replaceAll(PORTS, port);
    writeFileSync(configPath, known);
    const started = await startDaemon({ configPath, port: 0, env: process.env, log });
    // Somebody else may listen there by then.
    const isTaken =
      started.kind === "refused" && started.problems.some(({ key }) => key === "gateway.port");
    if (!isTaken || attempt === ATTEMPTS) return started;
  }
}

const PORTS = /(?<=localhost:|127\.0\.0\.1:|enabled = true\nport = )0/g;
const ATTEMPTS = 3;

/** Writes the endpoints of a server's tools, as an operator would have them. */
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
