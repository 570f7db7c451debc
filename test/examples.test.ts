/** The examples, each started and called as its README says, with its chain of records verified. */
import { cpSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createDirectory } from "./support/directory.ts";
import { EXAMPLE_PAGES } from "./support/doc-guides.ts";
import { type PageRun, runPage } from "./support/doc-page.ts";
import { describeWithPostgres, postgres } from "./support/postgres.ts";
import { ROOT } from "./support/source-tree.ts";

/** The examples with what they share, so that nothing is written beside them. */
function copyExamples(name: string): { readonly directory: string; remove(): void } {
  const directory = createDirectory();
  for (const shared of ["dist", "catalog", "handlers", "node_modules", "package.json"]) {
    symlinkSync(join(ROOT, shared), join(directory, shared));
  }
  for (const part of ["start.mjs", name]) {
    const target = join(directory, "examples", part);
    cpSync(join(ROOT, "examples", part), target, {
      recursive: true,
      // One that a person has tried in place.
      filter: (source) => !/\/(?:\.agtp|agents\/\w+\.(?:agent|genesis)\.json)$/.test(source),
    });
  }
  const remove = () => rmSync(directory, { recursive: true, force: true });
  return { directory: join(directory, "examples", name), remove };
}

async function runExample(
  name: string,
  env: Readonly<Record<string, string>> = {},
): Promise<PageRun> {
  const { directory, remove } = copyExamples(name);
  try {
    return await runPage(`examples/${name}/README.md`, { directory, env });
  } finally {
    remove();
  }
}

/** By example: texts that are among what is printed, and how many records there are in the end. */
const EXAMPLES: readonly (readonly [name: string, texts: readonly string[], records: number])[] = [
  ["minimal", ['"greeting":"Hello, Ada"', '"code":"'], 1],
  ["front-an-api", ['"price_cents":450', '"in_stock":120', '"code":"item_unknown"'], 2],
  ["composition", ['"cost":4.5', '"stock":120'], 1],
  ["contracts", ['"price":6.9', '"synthesis_id"'], 4],
  ["approvals", ['"booked":"double"', '"code":"approval-used"'], 4],
  ["mcp", ['"title":"Night market"', '"structuredContent"'], 2],
  ["openwop", ['"desk":"reception"', '"workflowId":"front-desk"'], 3],
  ["agntcy", ['"callable":true', '"text":"good evening"'], 2],
  ["agentcli", ["42 chores"], 2],
  ["python", ['"price":360', '"code":"room_unknown"'], 2],
];

describe("the examples", () => {
  it("are all of those that there are", () => {
    const pages = [...EXAMPLES.map(([name]) => name), "cluster"].map(
      (one) => `examples/${one}/README.md`,
    );
    expect(pages.toSorted()).toEqual([...EXAMPLE_PAGES].toSorted());
  });

  // Side by side, for they often wait for a daemon that starts; one that hangs ends all the same.
  it.concurrent.for(EXAMPLES)(
    "%s answers, and leaves a chain that holds",
    { timeout: 180_000 },
    async ([name, texts, records], { expect }) => {
      const { outputs, text } = await runExample(name);
      for (const one of texts) expect(text).toContain(one);
      expect(outputs.at(-1)).toMatch(new RegExp(`records +${records}\\n[\\s\\S]*chain +holds`));
    },
  );
});

describeWithPostgres("the example of a cluster", () => {
  it("answers on both nodes, and has one chain", async () => {
    const { outputs } = await runExample("cluster", {
      DATABASE_URL: await postgres().makeDatabase(),
    });
    const [said = ""] = outputs;
    expect(said).toContain('"greeting":"Hello, Ada"');
    expect(said).toContain('"greeting":"Hello, Ben"');
    expect(said).toMatch(/records +[23]\n[\s\S]*chain +holds/);
  });
});
