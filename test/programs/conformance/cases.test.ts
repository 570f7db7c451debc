/**
 * The shipped cases: the daemon passes every one of them, in one configuration or another, and for
 * every one of them there is a way of being broken that makes it fail.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ConformanceCase } from "../../../src/programs/conformance/case.ts";
import { REQUIREMENTS } from "../../../src/programs/conformance/clauses.ts";
import { runCase, runSuite } from "../../../src/programs/conformance/run-suite.ts";
import type { CaseVerdict } from "../../../src/programs/conformance/verdict.ts";
import { MUTATIONS } from "../../conformance/mutations.ts";
import {
  type ConformanceServer,
  openConformanceServer,
  RUNS,
  shippedCases,
} from "../../support/conformance.ts";

const cases = shippedCases();
const servers: ConformanceServer[] = [];
/** The verdicts of each configuration, on the cases that no earlier one passes. */
const verdicts = new Map<string, readonly CaseVerdict[]>();

const OPTIONS = {
  allowStateChanges: true,
  isStrict: false,
  known: new Map<string, string>(),
  totalTimeoutMs: 60_000,
};

beforeAll(async () => {
  for (const run of RUNS) {
    const server = await openConformanceServer(run);
    servers.push(server);
    const { subject, target } = server;
    const asked = cases.filter(({ name }) => isOf(run.config, name) || !isPassed(name));
    verdicts.set(run.config, await runSuite(asked, subject, { ...OPTIONS, target }));
  }
});

afterAll(async () => {
  for (const server of servers) await server.close();
});

describe("the shipped cases", () => {
  it("cover each of the thirteen requirements", () => {
    for (const number of REQUIREMENTS.keys()) {
      expect(cases.filter(({ requirements }) => requirements.includes(number + 1))).not.toEqual([]);
    }
  });

  it("have names that begin with the section that they are about, or one beside it", () => {
    for (const { name, clauses } of cases) {
      expect(clauses, name).toContain(name.slice(0, name.indexOf("-")));
    }
  });

  it.each(RUNS.map(({ config }) => config))(
    "are passed by the daemon, configuration %j",
    (config) => {
      const failed = verdicts.get(config)?.filter(({ standing }) => standing === "failed");
      expect(failed?.map(({ case: { name }, outcome }) => [name, outcome])).toEqual([]);
    },
  );

  it.each(cases.map(({ name }) => name))(
    "%s is passed, and fails a broken server",
    async (name) => {
      const server = servers.find(({ config }) => isShown(config, name));
      if (server === undefined) throw new Error("no configuration of the daemon passes the case");
      const mutation = MUTATIONS[name];
      if (mutation === undefined) throw new Error("there is no mutation that breaks the case");
      const { proxy, subject, altered } = server;
      proxy.alter((reply, earlier) =>
        earlier.length === mutation.at ? mutation.change(reply, earlier) : reply,
      );
      const outcome = await runCase(find(name), subject, altered);
      proxy.alter((reply) => reply);
      expect(outcome.kind).toBe("failed");
      if (outcome.kind !== "failed") return;
      expect(outcome.failure.got).not.toBe("");
      expect(outcome.failure.line).toBe(find(name).exchanges[mutation.at]?.line);
    },
  );

  it("have no mutation too many", () => {
    expect(
      Object.keys(MUTATIONS).filter((name) => !cases.some((one) => one.name === name)),
    ).toEqual([]);
  });
});

describe("cases that are not marked as changing state", () => {
  const harmless = cases.filter(({ changesState }) => !changesState);

  it("use the methods of change only where nothing is registered, or where nothing can come of it", () => {
    const lines = harmless.flatMap(({ exchanges }) =>
      exchanges.map(({ request }) => request.lines[0] ?? ""),
    );
    const changing = lines.filter(
      (line) => !/ (?:DISCOVER|QUERY|query|QUERY2|\{\{(?!proposal)\w+\.method\}\}) /.test(line),
    );
    for (const line of changing) {
      expect(line).toMatch(/ \{\{unknown\}\}\/?$| PROPOSE \/$|\{\{known_path\.path\}\}$/);
    }
  });

  it("propose only what no server may make", () => {
    const proposals = harmless.filter(({ exchanges }) =>
      exchanges.some(({ request }) => request.lines[0]?.includes("PROPOSE /")),
    );
    for (const { exchanges } of proposals) {
      for (const { responses } of exchanges) {
        for (const { status } of responses) expect(["400", "459", "460", "463"]).toContain(status);
      }
    }
  });
});

function isPassed(name: string): boolean {
  return [...verdicts.keys()].some((config) => isPassedBy(config, name));
}

function isPassedBy(config: string, name: string): boolean {
  const verdict = verdicts.get(config)?.find((one) => one.case.name === name);
  return verdict?.standing === "passed";
}

/** Whether a case is shown with this configuration because its mutation asks for it. */
function isOf(config: string, name: string): boolean {
  return MUTATIONS[name]?.config === config;
}

function isShown(config: string, name: string): boolean {
  const wanted = MUTATIONS[name]?.config ?? config;
  return wanted === config && isPassedBy(config, name);
}

function find(name: string): ConformanceCase {
  const found = cases.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no case ${name}`);
  return found;
}
