/** A console that is served without a daemon, over the state that one has left. */
import { onTestFinished } from "vitest";
import { startInspection } from "../../src/app/inspect.ts";
import { createLog } from "../../src/base/log.ts";
import { formatProblem } from "../../src/base/problem.ts";
import { askControl } from "../../src/client/ask-control.ts";
import { controlPath } from "../../src/state/state-directory.ts";
import { openPlace, type TestPlace } from "./console.ts";

/** Serves it for the running test. */
export async function openInspection(directory: string): Promise<TestPlace> {
  const sink = { write: () => undefined, flush: () => Promise.resolve() };
  const configPath = `${directory}/agtp-server.toml`;
  const started = await startInspection({ configPath, env: {}, log: createLog("info", sink) });
  if (started.kind === "refused") throw new Error(started.problems.map(formatProblem).join("\n"));
  const { inspection } = started;
  onTestFinished(() => inspection.drain());
  return openPlace(directory, inspection.consolePort);
}

/** How it says that it is. */
export async function statusIn(directory: string): Promise<Readonly<Record<string, unknown>>> {
  const line = await askControl(controlPath(directory), JSON.stringify({ command: "status" }));
  return JSON.parse(line).result;
}
