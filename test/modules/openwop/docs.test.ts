/** The pack, the workflow and the runs that docs/ shows, installed and run as they stand there. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agentFile, configFile } from "../../support/deployment.ts";
import { openServer } from "../../support/dispatch.ts";
import { expectValid } from "../../support/openwop-runs.ts";
import { ROOT } from "../../support/source-tree.ts";

function jsonOf(file: string): readonly Record<string, unknown>[] {
  const text = readFileSync(join(ROOT, "docs", file), "utf8");
  return [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json = ""]) => JSON.parse(json));
}

const [PACK] = jsonOf("openwop.md");
const [WORKFLOW, OF_WORKFLOW, OF_AGENT] = jsonOf("openwop-runs.md");
const ALICE = "a".repeat(64);
const TASK = { type: "object", required: ["request"], properties: { request: { type: "string" } } };

describe("what docs/ shows of OpenWOP", () => {
  it("is a pack that the published schema takes", () => {
    expectValid(PACK, "node-pack-manifest");
  });

  it("is installed and run as it stands there", async () => {
    const scopes_accepted = ["runs:create", "runs:read"];
    const files = {
      "agtp-server.toml": configFile({}),
      "agents/alice.agent.json": agentFile({ agent_id: ALICE, name: "alice", scopes_accepted }),
      "agents/openwop/clerk/pack.json": JSON.stringify(PACK),
      "agents/openwop/clerk/prompts/clerk.md": "You are the clerk.",
      "agents/openwop/clerk/schemas/clerk.task.schema.json": JSON.stringify(TASK),
      "agents/openwop/clerk/schemas/clerk.return.schema.json": '{"const": "front"}',
      "agents/openwop/workflows/front-desk.json": JSON.stringify(WORKFLOW),
    };
    // No endpoint books rooms in this test, which is told of.
    const server = await openServer(files, { isClean: false });
    const run = (body: object) =>
      server.send({
        ...{ method: "EXECUTE", path: "/runs", headers: { "agent-id": ALICE } },
        body: { ...body, wait_seconds: 20 },
      });
    const ofWorkflow = await run(OF_WORKFLOW ?? {});
    expect(ofWorkflow.status, ofWorkflow.text).toBe(200);
    expect(ofWorkflow.body).toMatchObject({ status: "completed", result: { answer: "front" } });
    const ofAgent = await run(OF_AGENT ?? {});
    expect(ofAgent.status, ofAgent.text).toBe(200);
    expect(ofAgent.body).toMatchObject({
      ...{ status: "completed", result: "front" },
      agent: { agentId: "vendor.harbour.clerk.desk", version: "1.0.0" },
    });
  });
});
