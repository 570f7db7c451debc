/**
 * Runs another program to its end and returns what it said: without a shell, in a group of its own
 * that is ended as a whole, and with a bounded memory of its output.
 */
import { spawn } from "node:child_process";
import { codeOf, reasonOf } from "../../thrown.ts";
import type { ProgramCall, ProgramEnd } from "./world.ts";

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Resolves when it is over, in whatever way. */
export function runProgram(call: ProgramCall): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const { program, args, env, directory: cwd, timeoutMs, input } = call;
    const child = spawn(program, args, { cwd, env, detached: true, stdio: "pipe" });
    const stdout = collect(child.stdout, () => end("put out too much"));
    const stderr = collect(child.stderr, () => end("put out too much"));
    let cause: string | undefined;
    const end = (reason: string): void => {
      cause ??= reason;
      killGroup(child.pid);
    };
    const timer = setTimeout(() => end(`took more than ${timeoutMs} ms`), timeoutMs);
    child.on("error", (error) => {
      clearTimeout(timer);
      const why = codeOf(error) === "ENOENT" ? "program not found" : reasonOf(error);
      resolve({ kind: "fault", message: why });
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (cause !== undefined) resolve({ kind: "fault", message: cause });
      else if (code === null) resolve({ kind: "fault", message: `ended by ${signal}` });
      else resolve({ kind: "exit", code, stdout: stdout(), stderr: stderr() });
    });
    // Whoever does not read its input is no fault.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input ?? "");
  });
}

function collect(stream: NodeJS.ReadableStream, onOverflow: () => void): () => string {
  const chunks: Buffer[] = [];
  let length = 0;
  stream.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length > MAX_OUTPUT_BYTES) onOverflow();
    else chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

/** Ends a process group; one that is gone already is no fault. */
export function killGroup(pid: number | undefined, signal: NodeJS.Signals = "SIGKILL"): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // Gone, or what is left of it runs as somebody else.
    if (codeOf(error) !== "ESRCH" && codeOf(error) !== "EPERM") throw error;
  }
}
