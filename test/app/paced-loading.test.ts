import { createHash, generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { loadConfig } from "../../src/app/config/load.ts";
import { type Deployment, loadDeployment } from "../../src/app/deployment.ts";
import type { Drive } from "../../src/base/paced.ts";
import { TaskQueue } from "../../src/base/task-queue.ts";
import { publicKeyOf } from "../../src/identity/ed25519.ts";
import { verifyManifest } from "../../src/identity/manifest-signature.ts";
import { configFile, endpointFile, makeDeployment } from "../support/deployment.ts";
import { createServer, outsideOf, SILENT_OBSERVER } from "../support/dispatch.ts";

const COUNT = 120;
/** Of JSON, in every endpoint. */
const WEIGHT = 12_000;

/** Endpoints that take as long to encode as very many. */
function heavyFiles(more: Parameters<typeof configFile>[0] = {}) {
  const description = "Describes it. ".repeat(WEIGHT / 14);
  const endpoints = Array.from({ length: COUNT }, (_, index) => [
    `endpoints/e${index}.toml`,
    endpointFile({
      method: "QUERY",
      path: `/things/n${index}`,
      properties: { a: { type: "string", description } },
    }),
  ]);
  return {
    "agtp-server.toml": configFile(more),
    "handlers.mjs": "export const echo = () => ({ body: {} });\nexport default echo;\n",
    ...Object.fromEntries(endpoints),
  };
}

/** Counts the characters of JSON that are made in one step, and outside of steps. */
function meteredDrive() {
  let made = 0;
  const stringify = JSON.stringify;
  vi.spyOn(JSON, "stringify").mockImplementation((...args: Parameters<typeof stringify>) => {
    const text = stringify(...args);
    made += text?.length ?? 0;
    return text;
  });
  const meter = { mostInAStep: 0, inSteps: 0, outside: 0, steps: 0 };
  const take = (): number => {
    const taken = made;
    made = 0;
    return taken;
  };
  const drive: Drive = (work) => {
    meter.outside += take();
    for (;;) {
      const step = work.next();
      const taken = take();
      meter.steps += 1;
      meter.inSteps += taken;
      meter.mostInAStep = Math.max(meter.mostInAStep, taken);
      if (step.done === true) return step.value;
    }
  };
  return { drive, meter };
}

class MeteredQueue extends TaskQueue {
  readonly #drive: Drive;

  constructor(drive: Drive) {
    super({ sliceMs: 4 });
    this.#drive = drive;
  }

  override async pace<T>(steps: Generator<undefined, T>): Promise<T> {
    return this.#drive(steps);
  }
}

afterEach(() => {
  vi.restoreAllMocks();
});

async function load(configPath: string, drive: Drive): Promise<Deployment> {
  const { config } = loadConfig(configPath, {});
  if (config === undefined) throw new Error("the configuration has problems");
  const outside = await outsideOf(SILENT_OBSERVER);
  const kept = { ...outside.kept, work: new MeteredQueue(drive) };
  const { deployment } = await loadDeployment(config, { ...outside, kept, env: {}, drive });
  if (deployment === undefined) throw new Error("the deployment has problems");
  return deployment;
}

describe("loading a deployment of many endpoints", () => {
  it("encodes no more than one endpoint without a pause, whatever is made of them all", async () => {
    const meter = await meterOf(heavyFiles());
    // Both forms of each for the manifest, and once more as a tool.
    expect(meter.inSteps).toBeGreaterThan(3 * COUNT * WEIGHT);
    expect(meter.mostInAStep).toBeLessThan(4 * WEIGHT);
    // What the protocol itself has, and nothing that is made of them all.
    expect(meter.outside).toBeLessThan((COUNT * WEIGHT) / 4);
    expect(meter.steps).toBeGreaterThan(10 * COUNT);
  });
});

describe("loading a deployment of many tools", () => {
  it("makes what MCP's clients are shown in the same steps", async () => {
    const mcp = { gateway: { enabled: true, port: 0 }, mcp: { enabled: true, anonymous: true } };
    const without = await meterOf(heavyFiles({ gateway: mcp.gateway }));
    const meter = await meterOf(heavyFiles(mcp));
    // Each tool once, in steps of its own.
    expect(meter.inSteps - without.inSteps).toBeGreaterThan(COUNT * WEIGHT);
    expect(meter.inSteps - without.inSteps).toBeLessThan(2 * COUNT * WEIGHT);
    expect(meter.mostInAStep).toBeLessThan(4 * WEIGHT);
    expect(meter.outside).toBeLessThan((COUNT * WEIGHT) / 4);
    expect(meter.steps - without.steps).toBeGreaterThan(4 * COUNT);
  });
});

async function meterOf(files: ReturnType<typeof heavyFiles>) {
  const { configPath } = makeDeployment(files);
  const { drive, meter } = meteredDrive();
  const deployment = await load(configPath, drive);
  await deployment.prepare();
  await deployment.close();
  vi.restoreAllMocks();
  return meter;
}

describe("a manifest of megabytes", () => {
  it("is signed over what it says, under the ETag of its octets", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const deployment = makeDeployment(heavyFiles({ signing: { key: "signing.pem" } }));
    const pem = privateKey.export({ type: "pkcs8", format: "pem" });
    writeFileSync(join(deployment.directory, "signing.pem"), pem, { mode: 0o600 });
    const server = await createServer(deployment);
    const { text, body, headers } = await server.send({ method: "DISCOVER", path: "/" });
    await server.close();
    expect(text.length).toBeGreaterThan(2 * COUNT * WEIGHT);
    expect(verifyManifest(body, publicKeyOf(publicKey))).toMatchObject({ kind: "verified" });
    const hash = createHash("sha256").update(text).digest("hex");
    expect(headers.get("etag")).toBe(`"${hash.slice(0, 32)}"`);
  });
});
