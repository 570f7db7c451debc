/** The README says what the code does: the same statuses, the same codes, the same files. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { STATUS_TEXT } from "../src/wire/status.ts";

const readme = read("README.md");
const statusRows = [...readme.matchAll(/^\| (\d{3}) \| ([^|]+) \| ([^|]*) \|/gm)];

function read(path: string): string {
  return readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
}

/** The members of a union of string literals, which exists only in the source. */
function literalsOf(path: string, type: string): string[] {
  const [, body = ""] = new RegExp(`export type ${type} =([^;]+);`).exec(read(path)) ?? [];
  return [...body.matchAll(/"([^"]+)"/g)].map(([, literal = ""]) => literal);
}

describe("README.md", () => {
  it("is no longer than 150 lines", () => {
    expect(readme.trimEnd().split("\n").length).toBeLessThanOrEqual(150);
  });

  it("lists every status with its text, and no other", () => {
    const listed = statusRows.map(([, status, text]) => [status, text]);
    expect(listed).toEqual(Object.entries(STATUS_TEXT));
  });

  it("lists every error code once, and no other", () => {
    const listed = statusRows.flatMap(([, , , codes = ""]) =>
      [...codes.matchAll(/`([^`]+)`/g)].map(([, code]) => code),
    );
    const wire = literalsOf("src/wire/message.ts", "WireFaultCode");
    const refusals = literalsOf("src/dispatch/refusal.ts", "RefusalCode");
    expect(wire.length * refusals.length).toBeGreaterThan(0);
    expect(listed.toSorted()).toEqual([...wire, ...refusals].toSorted());
  });

  it("shows an endpoint file of the sample, whole", () => {
    const [, shown] = /```toml\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(shown).toBe(read("endpoints/reservations/query-reservation.toml"));
  });

  it("calls as the agent of the sample", () => {
    const { agent_id: concierge } = JSON.parse(read("agents/concierge.agent.json"));
    const named = [...readme.matchAll(/--agent-id (\w{64})/g)].map(([, id]) => id);
    expect(new Set(named)).toEqual(new Set([concierge]));
    expect(read("tools/start.ts")).toContain(concierge);
  });
});
