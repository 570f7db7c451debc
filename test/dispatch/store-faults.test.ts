import { join } from "node:path";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { faultReply } from "../../src/dispatch/handling/invoke.ts";
import { openSqliteFile } from "../../src/state/sqlite/file.ts";
import { createSqliteStore } from "../../src/state/sqlite/store.ts";
import { openState } from "../../src/state/state.ts";
import { type StoreFaultKind, StoreUnavailableError } from "../../src/state/store-fault.ts";
import { makeDirectory } from "../support/directory.ts";
import { openServer } from "../support/dispatch.ts";
import { makeExchange } from "../support/exchange.ts";
import { ALICE, hostedFiles } from "../support/hosted-agents.ts";

function faultOf(kind: StoreFaultKind): Error {
  return new Error("a handler's own", {
    cause: new StoreUnavailableError(kind, new Error("the driver's words")),
  });
}

describe("a handler that the store failed", () => {
  it.each([
    [false, "full", "store-unavailable"],
    [true, "full", "outcome-unknown"],
    [false, "undecided", "outcome-unknown"],
  ] as const)(
    "having acted before: %s, by a fault that is %s, is answered 503 %s, and is no fault of its own",
    (hasActed, kind, code) => {
      const exchange = makeExchange();
      exchange.hasActed = hasActed;
      const faults: unknown[] = [];
      const services = { reportFault: (fault: unknown) => void faults.push(fault) };
      const { status, headers, refusal } = faultReply(
        exchange,
        services,
        "it threw",
        faultOf(kind),
      );
      expect([status, refusal?.code, headers?.["Retry-After"]]).toEqual([503, code, "1"]);
      expect(faults).toEqual([]);
    },
  );
});

// `[store]`; 503 store-unavailable
describe("a store that becomes read-only while it is in use", () => {
  it("refuses what must be kept, serves the rest, and goes on once it can be written", async () => {
    const path = join(makeDirectory(), "state.db");
    const { database } = await openSqliteFile(path, Database);
    if (database === undefined) throw new Error("the store does not open");
    const notices: unknown[] = [];
    const store = createSqliteStore(database, ({ event, fields }) =>
      notices.push([event, fields["kind"]]),
    );
    const onFault = (error: unknown): never => {
      throw error;
    };
    const state = await openState({ store, journalDirectory: undefined, onFault });
    const server = await openServer(hostedFiles(), { state });
    const ask = (method: string, path: string, more: object = {}) =>
      server.send({ method, path, headers: { "Agent-ID": ALICE, ...more }, body: {} });
    const escalate = async () => {
      const body = { task_id: "t-1", reason: "scope_limit", context: { question: "may I?" } };
      return server.send({ method: "ESCALATE", headers: { "Agent-ID": ALICE }, body });
    };
    database.exec("PRAGMA query_only = ON");
    for (const reply of [
      await escalate(),
      await ask("BOOK", "/rooms", { "Idempotency-Key": "key-1" }),
    ]) {
      expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(reply.body["error"]).toMatchObject({ code: "store-unavailable" });
      expect(reply.headers.has("attribution-record")).toBe(false);
    }
    expect((await ask("QUERY", "/lists")).status).toBe(200);
    expect((await ask("QUERY", "/escalations")).status).toBe(200);
    database.exec("PRAGMA query_only = OFF");
    expect((await escalate()).status).toBe(202);
    const booked = await ask("BOOK", "/rooms", { "Idempotency-Key": "key-1" });
    expect(booked.status).toBe(200);
    expect(booked.headers.get("idempotency-replayed")).not.toBe("true");
    expect(notices).toEqual([
      ["store-unavailable", "read-only"],
      ["store-available", undefined],
    ]);
    expect(server.faults).toEqual([]);
  });
});
