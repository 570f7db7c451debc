import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/app/config/load.ts";
import { configFile } from "../../support/deployment.ts";
import { makeDirectory } from "../../support/directory.ts";

function load(retention: object, tables: Readonly<Record<string, object>> = {}) {
  const directory = makeDirectory({
    "agtp-server.toml": configFile({ attribution: { retention }, ...tables }),
    file: "",
  });
  return { directory, ...loadConfig(join(directory, "agtp-server.toml"), {}) };
}

const problemsOf = (...args: Parameters<typeof load>): readonly string[] =>
  load(...args)
    .problems.filter(({ severity }) => severity !== "warning")
    .map(({ key }) => key);

// AGTP-IDENTIFIERS "Audit Log"
describe("[attribution.retention]", () => {
  it("bounds the journal by age, by size, or by both", () => {
    const { config, directory } = load({ days: 90, bytes: 2 ** 30, archive: "old" });
    expect(config?.attribution.retention).toEqual({
      ...{ days: 90, bytes: 2 ** 30, archive: join(directory, "old") },
    });
    expect(problemsOf({ days: 1 })).toEqual([]);
    expect(load({}, { attribution: {} }).config?.attribution.retention).toBeUndefined();
  });

  it.each([
    ["attribution.retention", { archive: "old" }],
    ["attribution.retention.days", { days: 0 }],
    ["attribution.retention.bytes", { bytes: 1024 }],
    ["attribution.retention.archive", { days: 1, archive: ".agtp/journal" }],
    ["attribution.retention.archive", { days: 1, archive: ".agtp/journal/old" }],
    ["attribution.retention.archive", { days: 1, archive: "file" }],
  ])("is refused at %s for %j", (key, retention) => {
    expect(problemsOf(retention)).toEqual([key]);
  });

  it("is for a database of records as well", () => {
    const store = { driver: "postgres", url: "postgres://localhost/agtp" };
    expect(problemsOf({ days: 1 }, { store })).toEqual([]);
  });
});
