/** A house whose console a person looks at: signed records, and strangers who write what they like. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { afterAll, beforeAll } from "vitest";
import { ALMA, approvingFiles } from "./approving.ts";
import { CONSOLE, consoleOf, openConsole, type TestConsole } from "./console.ts";
import { askOnce, createDaemon } from "./daemon.ts";
import {
  agentFile,
  createDeployment,
  type DeploymentFiles,
  type TestDeployment,
} from "./deployment.ts";
import type { TestReply, TestRequest } from "./dispatch.ts";

/** Markup and marks of direction, wherever an agent may write. */
export const HOSTILE = `<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>\u202e'"&`;

/** An agent whose name is hostile. */
export const MALLORY: string = "c3".repeat(32);

/** Starts the house. */
export async function openHouse(): Promise<TestConsole> {
  return openConsole(await houseFiles(generateKeyPairSync("ed25519").privateKey));
}

/** One house for all tests of a suite, which is called while the suite is described. */
export function shareHouse(): () => TestConsole {
  let house: TestConsole | undefined;
  let deployment: TestDeployment | undefined;
  beforeAll(async () => {
    deployment = createDeployment(await houseFiles(generateKeyPairSync("ed25519").privateKey));
    house = consoleOf(await createDaemon(deployment));
  });
  afterAll(async () => {
    await house?.close();
    deployment?.remove();
  });
  return () => {
    if (house === undefined) throw new Error("the suite has not begun");
    return house;
  };
}

/** Its files; the key signs its records. */
export async function houseFiles(key: KeyObject): Promise<DeploymentFiles> {
  const files = await approvingFiles([], { ...CONSOLE, signing: { key: "signing.pem" } });
  return {
    ...files,
    "signing.pem": String(key.export({ format: "pem", type: "pkcs8" })),
    "agents/mallory.agent.json": agentFile({
      ...{ name: HOSTILE, agent_id: MALLORY, scopes_accepted: ["booking:room"] },
    }),
  };
}

/** Asks as an agent. */
export async function askHouse(
  house: TestConsole,
  agent: string,
  request: TestRequest,
): Promise<TestReply> {
  return askOnce(house, { ...request, headers: { "Agent-ID": agent, ...request.headers } });
}

/** Has an agent look at a room: a record in its chain. */
export function look(house: TestConsole, room: string, agent: string = ALMA): Promise<TestReply> {
  return askHouse(house, agent, { method: "QUERY", path: `/free/${room}` });
}
