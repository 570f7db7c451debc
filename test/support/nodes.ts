/** Daemons over one PostgreSQL, each a process of its own that can be stopped and killed. */
import { type Ask, askThrough } from "./agntcy.ts";
import { type RunningProgram, startProgram } from "./agtpd.ts";
import { type DeploymentFiles, makeDeployment } from "./deployment.ts";

/** One of them. */
export interface TestNode {
  readonly program: RunningProgram;
  /** One request after another on a connection. */
  readonly ask: Ask;
  /** Ends it as a power cut would; resolves once it is gone. */
  kill(): Promise<void>;
  /** It does nothing until it may go on. */
  stop(): void;
  goOn(): void;
}

/** The files of a node, given the tables of its store. */
export type NodeFiles = (tables: Readonly<Record<string, object>>) => DeploymentFiles;

/** A machine may stall a node for so long; what one that is gone has left is waited for as long. */
const LEASE_MS = 5_000;

/** Starts a node, which ends with the running test. */
async function startNode(url: string, node: string, files: NodeFiles): Promise<TestNode> {
  const tables = { store: { driver: "postgres", url }, cluster: { node, view_lease_ms: LEASE_MS } };
  const { configPath } = makeDeployment(files(tables));
  const program = await startProgram(configPath);
  const { child, outcome } = program;
  return {
    program,
    ask: askThrough(await program.connect()),
    kill: async () => {
      child.kill("SIGKILL");
      await outcome;
    },
    stop: () => void child.kill("SIGSTOP"),
    goOn: () => void child.kill("SIGCONT"),
  };
}

/** Two of them. */
export async function startNodes(
  url: string,
  files: NodeFiles,
): Promise<readonly [TestNode, TestNode]> {
  return [await startNode(url, "a", files), await startNode(url, "b", files)];
}
