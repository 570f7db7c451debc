/** A server, or a pooler before one, that lets nobody in: nothing was asked of it, and that is known. */
import { createServer } from "node:net";
import { expect, it } from "vitest";
import type { CutEnds } from "../../../src/state/postgres/cut-rows.ts";
import { makePool } from "../../../src/state/postgres/driver.ts";
import { PostgresRecords } from "../../../src/state/postgres/records.ts";
import { NO_AUDIT_ID } from "../../../src/state/records/record.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { listen } from "../../support/port.ts";

/** The answer of a server to a client that says hello. */
function refusal(code: string, message: string): Buffer {
  const fields = [`SFATAL`, `VFATAL`, `C${code}`, `M${message}`].map((field) => `${field}\0`);
  const body = Buffer.from(`${fields.join("")}\0`);
  const head = Buffer.from("E\0\0\0\0");
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const nothing = (): void => undefined;

it.each([
  ["no more connections allowed (max_client_conn)", "08P01", "unreachable"],
  ["the database system is starting up", "57P03", "unreachable"],
  ["terminating connection due to administrator command", "57P01", "unreachable"],
  ["server login failed", "28P01", "refused"],
])("a record is not kept where it is refused: %s", async (message, code, kind) => {
  const server = createServer((socket) => {
    socket.on("error", nothing);
    socket.on("data", () => socket.end(refusal(code, message)));
    // The records are tried again until then.
    setImmediate(() => void pool?.end());
  });
  const port = await listen(server);
  const { pool } = makePool({ url: `postgres://agtp@127.0.0.1:${port}/agtp`, schema: "agtp" });
  if (pool === undefined) throw new Error("there is no pool");
  const records = new PostgresRecords({
    ...{ pool, name: '"agtp"', ends: {} as CutEnds, whereCut: () => Promise.resolve(undefined) },
    ...{ checkLease: nothing, onLoss: nothing, onKept: nothing, onUnavailable: nothing },
    onAppended: nothing,
  });
  const chain = { agentId: "a".repeat(64), at: 1, method: "BOOK" };
  const appended = records.append({
    records: [{ auditId: "1".repeat(64), jws: "x", chain }],
    expected: new Map([[chain.agentId, NO_AUDIT_ID]]),
  });
  const fault: unknown = await appended.catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(StoreUnavailableError);
  expect(fault).toMatchObject({ kind });
});
