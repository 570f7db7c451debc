/**
 * Programs that tests start over and over, each as one file with its bytecode: to find, read and compile
 * the two hundred modules of an SDK is two thirds of the work of such a process.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const BUNDLER = join(import.meta.dirname, "bundle-program.mjs");
/** The first message of a client, which the program answers before it ends. */
const HELLO = `${JSON.stringify({
  ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
  params: {
    ...{ protocolVersion: "2025-11-25", capabilities: {} },
    clientInfo: { name: "tests", version: "0" },
  },
})}\n`;

/** The path of a program of this folder, for Node to run; it is made once for all tests of a run. */
export async function bundledProgram(name: string): Promise<string> {
  const folder = join(tmpdir(), `bundled-${name}`);
  const program = join(folder, `${name}.cjs`);
  if (existsSync(folder)) return program;
  const own = mkdtempSync(join(tmpdir(), "bundling-"));
  await bundle(join(import.meta.dirname, `${name}.mjs`), join(own, `${name}.cjs`));
  try {
    renameSync(own, folder);
  } catch (error) {
    // Another worker was faster.
    if (!existsSync(folder)) throw error;
    rmSync(own, { recursive: true });
  }
  return program;
}

function bundle(source: string, target: string): Promise<void> {
  return new Promise((done, fail) => {
    const env = { ...process.env, NOTES: dirname(target) };
    const child = execFile(process.execPath, [BUNDLER, source, target], { env }, (error) =>
      error === null ? done() : fail(error),
    );
    child.stdin?.end(HELLO);
  });
}
