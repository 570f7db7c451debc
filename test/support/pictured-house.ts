/** The sample of the project with its console, and a morning's work of its agents. */
import { generateKeyPairSync } from "node:crypto";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse, stringify } from "smol-toml";
import { onTestFinished } from "vitest";
import { consoleOf, type TestConsole } from "./console.ts";
import { askHouse } from "./console-house.ts";
import { createDaemon } from "./daemon.ts";
import { makeDeployment } from "./deployment.ts";
import type { TestReply, TestRequest } from "./dispatch.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** The agents of the sample. */
export const CONCIERGE: string = "236cd4fdff74c17d27aa23919b929553712401ad5cc44eab5071d2c574ea0ccb";
export const FRONT_DESK: string =
  "301c0adae7305a58d6a74ae94d466f1bb101e4e435315149ecee931cd915707d";

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
  for (const name of ["agents", "endpoints", "recipes", "catalog"]) {
    cpSync(join(ROOT, name), join(directory, name), { recursive: true });
  }
  const sample = parse(readFileSync(join(ROOT, "agtp-server.toml"), "utf8")) as Record<
    string,
    never
  >;
  const { privateKey } = generateKeyPairSync("ed25519");
  const { server, mcp } = sample as { server: object; mcp: { servers: readonly object[] } };
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
  const book = join(directory, "endpoints/reservations/book-room.toml");
  const text = readFileSync(book, "utf8").replace(
    "[endpoint]",
    '[endpoint]\napproval = "operator"',
  );
  writeFileSync(book, text);
  const daemon = await createDaemon(deployment);
  onTestFinished(() => daemon.close());
  return consoleOf(daemon);
}

/** One of the things that the agents do of a morning, in turn. */
export function work(house: TestConsole, turn: number): Promise<TestReply> {
  const [agent, request] = CALLS[turn % CALLS.length] ?? [CONCIERGE, ROOMS];
  return askHouse(house, agent, request);
}

const ROOMS: TestRequest = {
  ...{ method: "QUERY", path: "/rooms" },
  body: { arrival: STAY.arrival, departure: STAY.departure },
};
const CALLS: readonly (readonly [string, TestRequest])[] = [
  [CONCIERGE, ROOMS],
  [FRONT_DESK, ROOMS],
  [CONCIERGE, { method: "RESERVE", path: "/rooms/double", body: STAY }],
  [CONCIERGE, ROOMS],
  [FRONT_DESK, { method: "RESERVE", path: "/rooms/suite", body: STAY }],
  [CONCIERGE, { method: "DISCOVER", path: "/methods" }],
  [CONCIERGE, { method: "RESERVE", path: "/rooms/cabin", body: STAY }],
  [
    CONCIERGE,
    { method: "FIND", path: "/city/events", body: { from: STAY.arrival, until: STAY.departure } },
  ],
  [CONCIERGE, ROOMS],
  [CONCIERGE, { method: "FROBNICATE", path: "/rooms" }],
  [CONCIERGE, { method: "QUERY", path: "/orders/o-17" }],
];

/** A booking that waits for an operator; answers the approval's id. */
export async function book(house: TestConsole, guests: number): Promise<string> {
  const body = { ...STAY, guests };
  const reply = await askHouse(house, CONCIERGE, { method: "BOOK", path: "/rooms/suite", body });
  return String(reply.body["escalation_id"]);
}
