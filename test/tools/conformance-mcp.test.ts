/** The daemons that MCP's own suite is run against: a tool of the suite is called, without the suite. */
import { resolve } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { SUBJECTS, startSubject } from "../../tools/conformance-mcp/subject.ts";
import { makeDirectory } from "../support/directory.ts";
import { connectMcp, VERSIONS } from "../support/mcp.ts";

const ROOT = resolve(import.meta.dirname, "../..");

describe.each(Object.entries(SUBJECTS))("the subject of MCP's suite: %s", (_, subject) => {
  it("starts, and answers a call of a tool that the suite names", async () => {
    const started = await startSubject(ROOT, subject, makeDirectory());
    if (started.kind === "refused") expect.fail(JSON.stringify(started.problems));
    onTestFinished(() => started.daemon.drain());
    const url = new URL(`http://127.0.0.1:${started.daemon.gatewayPort}/mcp`);
    for (const version of VERSIONS) {
      const client = await connectMcp(url, version);
      const result = await client.callTool({ name: "test_image_content", arguments: {} });
      expect(result).toMatchObject({ content: [{ type: "image", mimeType: "image/png" }] });
      expect(result.isError).not.toBe(true);
    }
  });
});
