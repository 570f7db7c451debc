/** What MCP clients that listen hear of changes, and of the end.   MCP "List Changed Notification" */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Sessions } from "../../../src/modules/mcp/sessions.ts";
import { endpointFile } from "../../support/deployment.ts";
import { openMcp, VERSIONS } from "../../support/mcp.ts";

const ADDED = endpointFile({
  ...{ method: "AUDIT", path: "/added" },
  handler: { type: "registered_function", function: "desk.echo" },
});

function newPromise() {
  let resolve: (names: readonly string[]) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<readonly string[]>((...settle) => {
    [resolve, reject] = settle;
  });
  return { promise, resolve, reject };
}

describe.each(VERSIONS)("a client of %s that listens", (version) => {
  it("hears of a reload that changes its tools, and finds them by what it has open", async () => {
    const server = await openMcp();
    const heard = newPromise();
    const client = await server.connectClient(version, {
      options: {
        listChanged: {
          tools: {
            debounceMs: 0,
            onChanged: (error, tools) =>
              error === null
                ? heard.resolve((tools ?? []).map(({ name }) => name))
                : heard.reject(error),
          },
        },
      },
    });
    await client.listTools();
    writeFileSync(join(server.directory, "endpoints/added.toml"), ADDED);
    await server.daemon.reload();
    expect(await heard.promise).toContain("audit_added");
    expect((await client.callTool({ name: "audit_added", arguments: {} })).isError).toBeUndefined();
  });

  it("does not hold up the end of the daemon", async () => {
    const server = await openMcp();
    const client = await server.connectClient(version, {
      options: { listChanged: { tools: { onChanged: () => undefined } } },
    });
    await client.listTools();
    await server.close();
  });
});

describe("what clients hold open", () => {
  it("lives through a reload, and is closed with the daemon", async () => {
    const close = vi.spyOn(Sessions.prototype, "close");
    onTestFinished(() => close.mockRestore());
    const server = await openMcp();
    const client = await server.connectClient("2025-11-25");
    await client.listTools();
    await server.daemon.reload();
    expect((await client.listTools()).tools).not.toHaveLength(0);
    expect(close).not.toHaveBeenCalled();
    await server.close();
    expect(close).toHaveBeenCalledOnce();
  });
});
