import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { median, ratioOf, spread } from "../../../tools/bench/measure.ts";
import { formatTable, writeNumbers, writeReadme } from "../../../tools/bench/report.ts";
import { atLeast, atMost } from "../../../tools/bench/row.ts";
import { Tally } from "../../../tools/bench/tally.ts";

describe("median", () => {
  it.each([
    [[3, 1, 2], 2],
    [[4, 1, 2, 3], 2.5],
    [[10], 10],
  ])("of %j is %d", (values, expected) => {
    expect(median(values)).toBe(expected);
  });
});

describe("ratioOf", () => {
  it("compares within a round, so that a slow round does not count against either", () => {
    const sample = (perSecond: number) => ({
      ...{ perSecond, cpuMicros: 1, allMicros: 1, p50Micros: 1, p99Micros: 1 },
    });
    const ours = [sample(90), sample(9), sample(80)];
    const base = [sample(100), sample(10), sample(100)];
    expect(ratioOf(ours, base, "perSecond").median).toBeCloseTo(0.9);
  });
});

describe("Tally", () => {
  it("counts and ranks only what came after the reset", () => {
    const tally = new Tally();
    tally.add(1_000);
    tally.reset();
    for (let ms = 1; ms <= 100; ms += 1) tally.add(ms);
    expect(tally.count).toBe(100);
    expect(tally.percentileMicros(0.99)).toBe(100_000);
    expect(tally.percentileMicros(0.5)).toBe(51_000);
  });
});

describe("formatTable", () => {
  it("writes a line a row, and marks a goal that was missed", () => {
    const goals = [atLeast(0.91, 0.85, "of raw"), atMost(1.6, 1.5, "raw")];
    const row = { scenario: "throughput", label: "16 x 1", unit: "req/s", raw: 80_000 } as const;
    const table = formatTable([{ ...row, agtpd: 72_800.4, goals }]);
    expect(table.split("\n").at(-1)).toBe(
      "| 16 x 1, req/s | 80,000 |  |  | 72,800 | 91 % of raw (>= 85 %), 1.60 x raw (**missed** <= 1.5 x) |",
    );
  });
});

describe("a goal", () => {
  const goal = (...ratios: readonly number[]) => atMost(spread(ratios), 1.5, "raw");

  it("is met or missed where the rounds agree on it", () => {
    expect(goal(1.2, 1.3, 1.3, 1.3, 1.4)).toMatchObject({ isMet: true, measured: "1.30 x raw" });
    expect(goal(1.6, 1.7, 1.7, 1.7, 2.9)).toMatchObject({ isMet: false, measured: "1.70 x raw" });
    expect(goal(1.4, 1.45, 1.48, 1.51, 1.6).isMet).toBe(true);
  });

  it("is neither in a run that is too noisy to tell", () => {
    const noisy = goal(0.3, 1.2, 1.4, 1.7, 8);
    expect(noisy.isMet).toBeUndefined();
    expect(noisy.measured).toBe("too noisy to tell: 1.20 to 1.70 x raw");
    expect(goal(0.2, 0.3, 0.5, 0.9, 1.1).isMet).toBeUndefined();
    const row = { scenario: "throughput", label: "16 x 1", unit: "req/s", agtpd: 1 } as const;
    expect(formatTable([{ ...row, goals: [noisy] }])).not.toContain("missed");
  });
});

describe("the page of numbers", () => {
  const section = (name: string, ...lines: readonly string[]): string =>
    [`### ${name}`, "", "| | agtpd |", "|---|---:|", ...lines, "", "Medians.", ""].join("\n");
  const machine = { node: "v20", cpu: "a processor", cores: 2, loadBefore: 0, loadAfter: 0 };

  it("has each scenario as it was measured last, in one order", async () => {
    const directory = await mkdtemp(join(tmpdir(), "numbers-"));
    const file = join(directory, "numbers.md");
    await writeFile(file, "before\n<!-- bench -->\n<!-- /bench -->\nafter\n");
    const names = ["start", "mcp"];
    writeNumbers(
      file,
      new Map([["mcp", section("mcp", "| old, µs | 1 |", "| $&, µs | 2 |")]]),
      names,
    );
    writeNumbers(file, new Map([["start", section("start", "| ms | 3 |")]]), names);
    const mcp = section("mcp", "| new, µs | 4 |");
    const sections = writeNumbers(file, new Map([["mcp", mcp]]), names);
    expect([...sections.keys()]).toEqual(names);
    const start = section("start", "| ms | 3 |");
    expect(await readFile(file, "utf8")).toBe(
      `before\n<!-- bench -->\n${start}\n${mcp}<!-- /bench -->\nafter\n`,
    );
    await writeFile(file, "no markers\n");
    expect(() => writeNumbers(file, sections, names)).toThrow("expected a <!-- bench --> marker");
    await rm(directory, { recursive: true });
  });

  it("lends the README some of its rows", async () => {
    const directory = await mkdtemp(join(tmpdir(), "numbers-"));
    const file = join(directory, "README.md");
    await writeFile(file, "before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n");
    const rows = ["| start with 10 endpoints, ms | 1 |", "| start with 1,000 endpoints, ms | 2 |"];
    const idle = section("idle", "| memory of an idle connection of 10, KB | 3 |");
    const sections = new Map([
      ["idle", idle],
      ["start", section("start", ...rows)],
    ]);
    writeReadme(file, sections, machine);
    const written = (await readFile(file, "utf8")).split("\n");
    expect(written.slice(4, 6)).toEqual([
      rows[1],
      "| memory of an idle connection of 10, KB | 3 |",
    ]);
    expect(written.join("\n")).not.toContain("with 10 endpoints");
    expect(written.slice(-4)).toEqual([
      "Medians; Node v20, 2 cores of a processor; all rows, and the machine's load: [docs/numbers.md](docs/numbers.md).",
      "<!-- /bench -->",
      "after",
      "",
    ]);
    await rm(directory, { recursive: true });
  });
});
