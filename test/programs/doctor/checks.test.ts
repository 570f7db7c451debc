/** Every check, by a deployment that it finds something in; and one in which none finds anything. */
import { describe, expect, it } from "vitest";
import { CHECKS } from "../../../src/programs/doctor/command.ts";
import { agent, type Case, upstream, variable, withCertificate } from "../../doctor/cases/case.ts";
import { keptCases } from "../../doctor/cases/kept.ts";
import { keysCases } from "../../doctor/cases/keys.ts";
import { servedCases } from "../../doctor/cases/served.ts";
import { trustCases } from "../../doctor/cases/trust.ts";
import { makePatient } from "../../support/doctor.ts";

const CASES: readonly Case[] = [...keysCases, ...trustCases, ...servedCases, ...keptCases];

describe("the doctor", () => {
  it.each(CASES)("finds $title ($id)", async ({ id, site, found }) => {
    const patient = makePatient(typeof site === "function" ? await site() : site);
    const { findings, unasked, exitCode } = await patient.examine();
    const ofCheck = findings.filter((finding) => finding.id === id);
    expect(ofCheck).toContainEqual(expect.objectContaining({ id, ...found }));
    const isSerious = findings.some(({ severity }) => severity !== "note");
    expect([exitCode, unasked]).toEqual([isSerious ? 1 : 0, []]);
    for (const { message, remedy } of findings) {
      expect(message).toMatch(/^(?:[^A-Z].*|Node\.js .*|QUERY .*)[^.]$/);
      expect(remedy).toMatch(/[^.]$/);
      expect(message + remedy).not.toContain("hunter2");
    }
  });

  it("has a deployment in this test for every check", () => {
    const ids = CHECKS.map(({ id }) => id);
    expect([...new Set(CASES.map(({ id }) => id))].toSorted()).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("finds nothing in a deployment that has nothing wrong", async () => {
    const site = await withCertificate(300, {
      files: {
        ...upstream({ Authorization: `Bearer ${variable("TOKEN")}` }),
        ...agent({ scopes_accepted: ["booking:room"], expires_at: "2999-01-01T00:00:00Z" }),
        "recipes/none.toml.bak": "# REVIEW: no recipe",
      },
      tables: {
        webhooks: { secret: variable("SECRET"), escalations: "https://ops.acme.example/" },
        apis: [{ name: "orders", base_url: "https://api.acme.example" }],
        store: { driver: "sqlite" },
      },
      environment: { TOKEN: "hunter2", SECRET: "hunter2" },
    });
    const { findings, unasked, exitCode } = await makePatient(site).examine();
    expect(findings).toEqual([]);
    expect([unasked, exitCode]).toEqual([[], 0]);
  });
});
