import { describe, expect, it } from "vitest";
import { ANONYMOUS } from "../../../src/dispatch/caller/caller.ts";
import { sessionEntry, sessionGate } from "../../../src/dispatch/gates/01-session.ts";
import { bodySessionGate } from "../../../src/dispatch/gates/14-body-session.ts";
import { makeExchange } from "../../support/exchange.ts";
import { makeStanding } from "../../support/standing.ts";

const AGENT = { ...ANONYMOUS, agentId: "a".repeat(64) };
const noAlias = { alias: () => undefined };
const TAKEN = makeStanding({ sessions: { isOpenTo: () => false, admit: () => false } });

// AGTP "Sessions"
describe("the gates of sessions", () => {
  it("leave a caller nobody who names a session of somebody else's", () => {
    const exchange = makeExchange({ headers: { "session-id": "s" } });
    exchange.caller = AGENT;
    const refusal = sessionGate(TAKEN, noAlias)(exchange);
    expect(refusal).toMatchObject({ status: 401, code: "session-mismatch" });
    expect(exchange.caller).toBe(ANONYMOUS);
  });

  it("judge the header's, which is entered behind the arrival, and enter the body's when it is read", () => {
    const asked: string[] = [];
    const standing = makeStanding({
      sessions: {
        isOpenTo: (sessionId) => {
          asked.push(`${sessionId}?`);
          return true;
        },
        admit: (sessionId) => {
          asked.push(sessionId);
          return true;
        },
      },
    });
    const inHeader = makeExchange({ headers: { "session-id": "header" } });
    const inBody = makeExchange({});
    const [judge, enter] = [sessionGate(standing, noAlias), sessionEntry(standing, noAlias)];
    const enterBody = bodySessionGate(standing);
    for (const exchange of [inHeader, inBody]) {
      judge(exchange);
      enter(exchange);
      exchange.sessionId ??= "body";
      enterBody(exchange);
    }
    expect(asked).toEqual(["header?", "header", "body"]);
  });
});
