/** An answer that is kept is given again to who could have it made now, and to nobody with less. */
import { describe, expect, it } from "vitest";
import { ALICE, BOOKING, delegation, delegationFiles } from "../../support/delegation.ts";
import { endpointFile } from "../../support/deployment.ts";
import { openServer, type TestReply, type TestServer } from "../../support/dispatch.ts";

const NARROW = "documents:read";
const WIDE = "documents:read, booking:*";

/** A server with an endpoint that asks for no scope, and dispatches to one that does: by a handler of its own. */
function open(): Promise<TestServer> {
  const around = (path: string, name: string) =>
    endpointFile({
      ...{ method: "EXECUTE", path },
      handler: { type: "registered_function", function: `around.${name}` },
    });
  return openServer(
    delegationFiles(
      {},
      {
        "around.mjs": `
export const once = async ({ dispatch }) => ({ body: (await dispatch("BOOK", "/rooms", { nights: 2 })).body });
export const twice = async ({ dispatch }) => ({ body: (await dispatch("EXECUTE", "/once", {})).body });`,
        "endpoints/once.toml": around("/once", "once"),
        "endpoints/twice.toml": around("/twice", "twice"),
      },
    ),
  );
}

interface Asked {
  readonly method: string;
  readonly path?: string;
  readonly body: object;
}

function ask(server: TestServer, asked: Asked, claim?: string): Promise<TestReply> {
  const headers = { "Agent-ID": ALICE, "Idempotency-Key": "k-1" };
  const claimed = claim === undefined ? {} : { "Authority-Scope": claim };
  return server.send({ ...asked, headers: { ...headers, ...claimed } });
}

async function countOf(server: TestServer): Promise<unknown> {
  const headers = { "Agent-ID": ALICE };
  return (await server.send({ method: "QUERY", path: "/counts", headers })).body["count"];
}

// AGTP-API §6.4 "required_scopes", §10.1.5
describe("an answer under an Idempotency-Key", () => {
  it.each<[string, Asked]>([
    ["EXECUTE", { method: "EXECUTE", body: { action: BOOKING } }],
    ["DELEGATE", { method: "DELEGATE", body: delegation() }],
    ["a handler that dispatches", { method: "EXECUTE", path: "/once", body: {} }],
    ["one that dispatches to that", { method: "EXECUTE", path: "/twice", body: {} }],
  ])("of %s is kept from a caller that holds less than its parts took", async (_, asked) => {
    const server = await open();
    const first = await ask(server, asked);
    expect(first.status, first.text).toBe(200);
    const narrow = await ask(server, asked, NARROW);
    expect([narrow.status, narrow.body["missing_scopes"]]).toEqual([455, ["booking:room"]]);
    expect(narrow.text).not.toContain("booked");
    const wide = await ask(server, asked, WIDE);
    expect(wide.headers.get("idempotency-replayed")).toBe("true");
    expect([wide.status, wide.body]).toEqual([200, first.body]);
    expect(await countOf(server)).toBe(1);
  });

  it("is given to a caller that holds less, where its parts took no more", async () => {
    const server = await open();
    const asked = { method: "EXECUTE", body: { action: { method: "EXECUTE", path: "/tickets" } } };
    const first = await ask(server, asked);
    const narrow = await ask(server, asked, NARROW);
    expect(narrow.headers.get("idempotency-replayed")).toBe("true");
    expect([narrow.status, narrow.body]).toEqual([first.status, first.body]);
  });
});
