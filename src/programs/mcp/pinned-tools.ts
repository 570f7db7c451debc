/** The tools that a deployment's endpoints are bound to, with what its state knows of their pins. */
import { existsSync } from "node:fs";
import type { Config } from "../../app/config/config.ts";
import type { Environment } from "../../base/environment.ts";
import { formatProblem, isError } from "../../base/problem.ts";
import { type PinnedTool, ToolPins } from "../../handlers/mcp/tool-pins.ts";
import { createMemoryStore } from "../../state/memory-store.ts";
import { readStoreCopy } from "../../state/read-copy.ts";
import { loadDefinitions } from "../openapi/load-deployment.ts";
import { usage } from "../shell/command-file.ts";

const COLLECTIONS = ["mcp-pins", "mcp-definitions"];

/** The tools of all endpoints, each once. */
export function pinnedTools(config: Config, environment: Environment): readonly PinnedTool[] {
  const loaded = loadDefinitions(config, environment);
  if (loaded.catalog === undefined) {
    throw usage(loaded.problems.filter(isError).map(formatProblem).join("; "));
  }
  const tools = new Map<string, PinnedTool>();
  for (const { handler } of loaded.definitions) {
    if (handler.type !== "mcp_tool") continue;
    const { server, tool, definition } = handler;
    tools.set(JSON.stringify([server, tool, definition]), { server, tool, definition });
  }
  return [...tools.values()];
}

/** The pins as the state has them, whether a daemon runs or not. */
export async function readPins({ store: { driver, path } }: Config): Promise<ToolPins> {
  const store = createMemoryStore();
  if (driver === "sqlite" && existsSync(path)) {
    for (const [index, entries] of readStoreCopy(path, COLLECTIONS).entries()) {
      const collection = COLLECTIONS[index] ?? "";
      await store.commit(entries.map((entry) => ({ kind: "put", collection, ...entry })));
    }
  }
  return ToolPins.open(store);
}
