/** Whom the sidecar speaks as. */
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkDeployment } from "../../src/app/daemon.ts";
import { createLog } from "../../src/base/log.ts";
import { issueAgent } from "../../src/identity/issue.ts";
import { openStore } from "../../src/state/open-store.ts";
import type { StoredEntry } from "../../src/state/store.ts";
import { createDaemon } from "../support/daemon.ts";
import {
  agentFile,
  configFile,
  makeDeployment,
  type TestDeployment,
} from "../support/deployment.ts";
import { DESK, gatewayFiles, openGateway, withGateway } from "../support/gateway.ts";
import { makeKey } from "../support/private-key.ts";

const UNNAMED = { gateway: { enabled: true, port: 0 } };

function deploy(tables: Readonly<Record<string, object>> = UNNAMED): TestDeployment {
  const { "agents/desk.agent.json": _, ...files } = gatewayFiles();
  return makeDeployment({ ...files, "agtp-server.toml": configFile(tables) });
}

/** The agent of the responses, and how DISCOVER /agents shows it. */
async function lookAt(deployment: TestDeployment) {
  const server = await createDaemon(deployment);
  const url = `http://127.0.0.1:${server.daemon.gatewayPort}`;
  const response = await fetch(`${url}/orders/7`);
  const agents = (await (await fetch(`${url}/agents/discover`)).json()) as readonly object[];
  await server.close();
  return { status: response.status, agentId: response.headers.get("agent-id"), agents };
}

/** Puts another Genesis in the place of the one that the store has. */
async function withKept(
  { directory }: TestDeployment,
  change: (kept: StoredEntry) => unknown,
): Promise<void> {
  const path = join(directory, ".agtp/state.db");
  const { store } = await openStore({ driver: "sqlite", path }, "agtp-server.toml");
  const [kept] = (await store?.list("hosted-identities")) ?? [];
  if (store === undefined || kept === undefined) throw new Error("no identity was kept");
  const { key } = kept;
  const value = change(kept);
  await store.commit([{ kind: "put", collection: "hosted-identities", key, value }]);
  await store.close();
}

describe("the sidecar's agent", () => {
  it("is issued once where the operator names none, and stays the same", async () => {
    const deployment = deploy();
    const first = await lookAt(deployment);
    expect(first.status).toBe(200);
    expect(first.agentId).toMatch(/^[0-9a-f]{64}$/);
    expect(first.agents).toMatchObject([{ name: "http-gateway", agent_id: first.agentId }]);
    expect((await lookAt(deployment)).agentId).toBe(first.agentId);
    for (const name of readdirSync(join(deployment.directory, ".agtp"))) {
      if (name.startsWith("state.db")) rmSync(join(deployment.directory, ".agtp", name));
    }
    expect((await lookAt(deployment)).agentId).not.toBe(first.agentId);
  });

  it("is signed with the server's key where there is one, and outlives another key", async () => {
    const deployment = deploy({ ...UNNAMED, signing: { key: "signing.pem" } });
    const pem = makeKey("ed25519");
    writeFileSync(join(deployment.directory, "signing.pem"), pem);
    const first = await lookAt(deployment);
    const { x } = createPublicKey(pem).export({ format: "jwk" });
    await withKept(deployment, (kept) => {
      expect(kept.value).toMatchObject({ agent_id: first.agentId, issuer_public_key: x });
      return kept.value;
    });
    writeFileSync(deployment.configPath, configFile(UNNAMED));
    expect((await lookAt(deployment)).agentId).toBe(first.agentId);
  });

  it("holds nothing when it is issued, so what needs a scope is refused", async () => {
    const { "agents/desk.agent.json": _, ...files } = gatewayFiles();
    const { fetch } = await openGateway({ ...files, "agtp-server.toml": configFile(UNNAMED) });
    const response = await fetch("/orders/search", { method: "POST" });
    expect([response.status, response.headers.get("x-agtp-status")]).toEqual([403, "455"]);
  });

  it("is the one that the operator names, by name or Agent-ID", async () => {
    for (const agent of ["desk", DESK]) {
      const { fetch } = await openGateway(gatewayFiles({ gateway: { agent } }));
      expect((await fetch("/orders/7")).headers.get("agent-id")).toBe(DESK);
    }
  });

  it("has to be there: without it nothing is served", async () => {
    const files = gatewayFiles({ gateway: { agent: "nobody" } });
    await expect(openGateway(files)).rejects.toThrow('gateway.agent: no agent is called "nobody"');
  });

  it("is not taken from the operator's agents by its name alone", async () => {
    const named = agentFile({ agent_id: "e".repeat(64), name: "http-gateway" });
    const files = { ...gatewayFiles(), "agents/own.agent.json": named };
    const config = configFile(UNNAMED);
    await expect(openGateway({ ...files, "agtp-server.toml": config })).rejects.toThrow(
      "gateway.agent: is required, because agents/own.agent.json has the name",
    );
  });

  it("does not start from a kept identity that somebody changed", async () => {
    const deployment = deploy();
    await lookAt(deployment);
    await withKept(deployment, ({ value }) => ({ ...(value as object), scope: ["orders:write"] }));
    await expect(createDaemon(deployment)).rejects.toThrow("does not verify");
  });

  it("is still the one that an earlier version kept in files", async () => {
    const deployment = deploy();
    const earlier = issueAgent({
      ...{ name: "http-gateway", description: "Speaks for HTTP.", ownerId: "old.example" },
      ...{ governanceZone: "zone:server", scopes: [], issuer: "agtp://old.example" },
      ...{ principal: "Old", principalId: "old.example" },
      issuerKey: generateKeyPairSync("ed25519").privateKey,
    });
    const kept = join(deployment.directory, ".agtp/agents");
    mkdirSync(kept, { recursive: true });
    const genesis = join(kept, "http-gateway.genesis.json");
    writeFileSync(genesis, JSON.stringify(earlier.genesis));
    writeFileSync(join(kept, "http-gateway.agent.json"), JSON.stringify(earlier.document));
    expect((await lookAt(deployment)).agentId).toBe(earlier.agentId);
    // The store has it now.
    rmSync(kept, { recursive: true });
    expect((await lookAt(deployment)).agentId).toBe(earlier.agentId);
  });

  it("is not replaced where the files of an earlier version cannot be read", async () => {
    const deployment = deploy();
    const kept = join(deployment.directory, ".agtp/agents");
    mkdirSync(kept, { recursive: true });
    const genesis = join(kept, "http-gateway.genesis.json");
    writeFileSync(join(kept, "http-gateway.agent.json"), "{}");
    await expect(createDaemon(deployment)).rejects.toThrow("genesis.json: does not exist");
    writeFileSync(genesis, "{");
    await expect(createDaemon(deployment)).rejects.toThrow("must be a JSON object");
    writeFileSync(genesis, "{}");
    await expect(createDaemon(deployment)).rejects.toThrow("http-gateway.genesis.json");
  });

  it("is not written by a check", async () => {
    const { configPath, directory } = deploy(withGateway({ gateway: { agent: "desk" } }));
    const before = readdirSync(directory, { recursive: true });
    const sink = { write: () => undefined, flush: () => Promise.resolve() };
    const log = createLog("silent", sink);
    const problems = await checkDeployment({ configPath, env: {}, log });
    expect(problems.map(({ key }) => key)).toContain("gateway.agent");
    writeFileSync(configPath, configFile(UNNAMED));
    expect(await checkDeployment({ configPath, env: {}, log })).toEqual([]);
    expect(readdirSync(directory, { recursive: true })).toEqual(before);
  });
});
