/** The sample of the project with its console, and a morning's work of its agents. */
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { parse, stringify } from "smol-toml";
import { onTestFinished } from "vitest";
import { uuidv7 } from "../../src/identity/uuid.ts";
import { ensureCertificate } from "../../src/server/certificate.ts";
import { startOrderDesk } from "../../tools/sample-upstream.ts";
import { consoleOf, type TestConsole } from "./console.ts";
import { askHouse } from "./console-house.ts";
import { serve } from "./daemon.ts";
import { makeDeployment } from "./deployment.ts";
import type { TestReply, TestRequest } from "./dispatch.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** The agents of the sample. */
export const CONCIERGE: string = "236cd4fdff74c17d27aa23919b929553712401ad5cc44eab5071d2c574ea0ccb";
const FRONT_DESK: string = "301c0adae7305a58d6a74ae94d466f1bb101e4e435315149ecee931cd915707d";

const STAY = {
  guest_name: "Ada Lovelace",
  arrival: "2030-05-04",
  departure: "2030-05-06",
  guests: 2,
};

/** Starts the sample; bookings of rooms wait for an operator. */
export async function openPictured(): Promise<TestConsole> {
  const deployment = makeDeployment({});
  const { directory, configPath } = deployment;
  for (const name of ["agents", "endpoints", "handlers", "recipes", "catalog"]) {
    cpSync(join(ROOT, name), join(directory, name), { recursive: true });
  }
  const sample = parse(readFileSync(join(ROOT, "agtp-server.toml"), "utf8")) as Record<
    string,
    never
  >;
  const { privateKey } = generateKeyPairSync("ed25519");
  const { server, mcp } = sample as unknown as {
    server: object;
    mcp: { servers: readonly object[] };
  };
  const config = {
    ...sample,
    server: { ...server, port: 0 },
    console: { enabled: true, port: 0 },
    signing: { key: "signing.pem" },
    mcp: { ...mcp, servers: mcp.servers.map((one) => ({ ...one, command: process.execPath })) },
  };
  writeFileSync(configPath, stringify(config));
  writeFileSync(
    join(directory, "signing.pem"),
    String(privateKey.export({ format: "pem", type: "pkcs8" })),
    { mode: 0o600 },
  );
  // The sample's MCP server takes the library from there.
  symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
  rewrite(join(directory, "endpoints/reservations/book-room.toml"), "[endpoint]", APPROVED);
  const port = await openDesk(directory);
  for (const name of readdirSync(join(directory, "endpoints/orders"))) {
    rewrite(join(directory, "endpoints/orders", name), ":4481", `:${port}`);
  }
  const daemon = await serve(deployment);
  return consoleOf(daemon);
}

const APPROVED = '[endpoint]\napproval = "operator"';

function rewrite(path: string, from: string, to: string): void {
  writeFileSync(path, readFileSync(path, "utf8").replace(from, to));
}

/** The HTTP API behind the orders; answers its port. */
async function openDesk(directory: string): Promise<number> {
  const { cert, key } = await ensureCertificate(join(directory, ".agtp/sample"));
  const desk = await startOrderDesk({ port: 0, token: "sample-order-desk-key", cert, key });
  onTestFinished(async () => {
    desk.closeAllConnections();
    desk.close();
    await once(desk, "close");
  });
  return (desk.address() as AddressInfo).port;
}

/** One of the things that the agents do of a morning, in turn. */
export function work(house: TestConsole, turn: number): Promise<TestReply> {
  const calls = callsOf(turn);
  const [agent, request] = calls[turn % calls.length] ?? [CONCIERGE, rooms(turn)];
  return askHouse(house, agent, request);
}

/** Two nights that nobody has booked yet. */
function nights(turn: number) {
  const day = (count: number): string =>
    new Date(Date.UTC(2030, 0, 1 + count)).toISOString().slice(0, 10);
  return { arrival: day(3 * turn), departure: day(3 * turn + 2) };
}

function rooms(turn: number): TestRequest {
  return { method: "QUERY", path: "/rooms", body: nights(turn) };
}

function callsOf(turn: number): readonly (readonly [string, TestRequest])[] {
  const stay = { ...STAY, ...nights(turn) };
  const { arrival, departure } = stay;
  const order = { reservation_id: uuidv7(), item: "flowers" };
  return [
    [CONCIERGE, rooms(turn)],
    [FRONT_DESK, rooms(turn)],
    [CONCIERGE, { method: "RESERVE", path: "/rooms/double", body: stay }],
    [CONCIERGE, rooms(turn)],
    [FRONT_DESK, { method: "RESERVE", path: "/rooms/suite", body: stay }],
    [CONCIERGE, { method: "CREATE", path: "/orders", body: order }],
    [CONCIERGE, { method: "DISCOVER", path: "/methods" }],
    [CONCIERGE, { method: "RESERVE", path: "/rooms/cabin", body: stay }],
    [
      CONCIERGE,
      { method: "FIND", path: "/city/events", body: { from: arrival, until: departure } },
    ],
    [CONCIERGE, rooms(turn)],
    [FRONT_DESK, { method: "CREATE", path: "/orders", body: order }],
    [CONCIERGE, { method: "FROBNICATE", path: "/rooms" }],
  ];
}

/** A booking that waits for an operator; answers the approval's id. */
export async function book(house: TestConsole, guests: number): Promise<string> {
  const body = { ...STAY, guests };
  const reply = await askHouse(house, CONCIERGE, { method: "BOOK", path: "/rooms/suite", body });
  return String(reply.body["escalation_id"]);
}
