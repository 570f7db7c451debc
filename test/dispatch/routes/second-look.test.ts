import { describe, expect, it } from "vitest";
import { notFound } from "../../../src/dispatch/refusals/refusal.ts";
import type { ExchangeView, RouteHandler } from "../../../src/dispatch/routes/route.ts";
import { withSecondLook } from "../../../src/dispatch/routes/second-look.ts";
import type { Call } from "../../../src/handlers/handler.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";

const KNOWN = { caller: { document: {} }, peer: {} } as unknown as ExchangeView;
const STRANGER = { caller: {}, peer: {} } as unknown as ExchangeView;
const WHOLE = "esc-0197a3f0-0000-7000-8000-000000000000";

/** A handler that finds what it is asked for once the node has caught up. */
function makeNode() {
  const asked = { handler: 0, store: 0 };
  let isThere = false;
  const find: RouteHandler = () => {
    asked.handler += 1;
    return isThere ? { body: {} } : notFound("record-not-found", "none");
  };
  const view = {
    catchUp: () => {
      asked.store += 1;
      isThere = true;
      return Promise.resolve();
    },
  };
  return { asked, find, view };
}

function callFor(id: unknown): Call {
  return { input: { escalation_id: id } } as unknown as Call;
}

describe("withSecondLook", () => {
  it("asks again once the node has caught up, and answers as then", async () => {
    const { asked, find, view } = makeNode();
    const handler = withSecondLook(find, ["escalation_id"], view);
    expect(await handler(callFor(WHOLE), KNOWN)).toEqual({ body: {} });
    expect(asked).toEqual({ handler: 2, store: 1 });
    await handler(callFor(WHOLE), KNOWN);
    expect(asked).toEqual({ handler: 3, store: 1 });
  });

  it.each([
    ["a stranger", WHOLE, STRANGER],
    ["a name that is too short", "esc-1", KNOWN],
    ["a name of other characters", `${WHOLE} '`, KNOWN],
    ["a name that is too long", "a".repeat(257), KNOWN],
    ["no text", 7, KNOWN],
  ])("asks the store nothing for %s", async (_, id, exchange) => {
    const { asked, find, view } = makeNode();
    const handler = withSecondLook(find, ["escalation_id"], view);
    expect(await handler(callFor(id), exchange)).toMatchObject({ status: 404 });
    expect(asked).toEqual({ handler: 1, store: 0 });
  });

  it("says nothing of what is there where the store cannot be asked", async () => {
    const { asked, find } = makeNode();
    const fault = new StoreUnavailableError("unreachable", new Error("it ends connections"));
    const view = { catchUp: () => Promise.reject(fault) };
    const handler = withSecondLook(find, ["escalation_id"], view);
    await expect(handler(callFor(WHOLE), KNOWN)).rejects.toBe(fault);
    expect(asked).toEqual({ handler: 1, store: 0 });
  });

  it("is the handler itself where there are no other nodes", () => {
    const { find } = makeNode();
    expect(withSecondLook(find, ["escalation_id"], {})).toBe(find);
  });
});
