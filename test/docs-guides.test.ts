/** The guides: their commands are run in order by a shell, with the built programs. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { createDirectory, makeDirectory } from "./support/directory.ts";
import { GUIDES } from "./support/doc-guides.ts";
import { runPage, runText } from "./support/doc-page.ts";
import { startUpstream } from "./support/https-upstream.ts";
import { describeWithPostgres, postgres } from "./support/postgres.ts";
import { ROOT } from "./support/source-tree.ts";

/** Pages run side by side, for they often wait for a daemon that starts; one that hangs ends all the same. */
const WAITING = { timeout: 180_000 };

/** A directory that is removed when its test is over, whatever others are running. */
function placeFor(onTestFinished: TestContext["onTestFinished"]): string {
  const directory = createDirectory();
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

describe("the guides", () => {
  it.concurrent.for(GUIDES)(
    "docs/%s.md does what it says",
    WAITING,
    async ([page, texts], { expect, onTestFinished }) => {
      const directory = placeFor(onTestFinished);
      const { text } = await runPage(`docs/${page}.md`, { directory });
      for (const one of texts) expect(text).toMatch(one);
    },
  );
});

describeWithPostgres("the guide to several nodes", () => {
  it("does what it says", async () => {
    const env = { DATABASE_URL: await postgres().makeDatabase() };
    const { outputs } = await runPage("docs/cluster.md", { directory: makeDirectory(), env });
    expect(outputs.at(-1)).toContain('"item_id":"tea"');
    expect(outputs.at(-1)).toContain('"item_id":"coffee"');
    expect(outputs.at(-1)?.match(/ ready /g)).toHaveLength(2);
  });
});

/** The steps that an import tells, as a page. */
function stepsOf(told: string): string {
  const [, before = "", beside = ""] =
    /to the first call:\n([\s\S]*?) {2}agtpd\nand in another terminal.*\n([\s\S]*)$/.exec(told) ??
    [];
  const plain = (steps: string) => steps.replace(/^ {2}/gm, "");
  return `\`\`\`sh\n${plain(before)}\`\`\`\n\`\`\`daemon\nagtpd\n\`\`\`\n\`\`\`sh\n${plain(beside)}\`\`\`\n`;
}

describe("the steps that an import tells", () => {
  it.concurrent(
    "lead from a document to a governed call",
    WAITING,
    async ({ expect, onTestFinished }) => {
      const directory = placeFor(onTestFinished);
      const shop = await startUpstream();
      onTestFinished(() => shop.close());
      shop.respondJson(200, { price: 4.5 });
      writeFileSync(join(directory, "shop-ca.pem"), shop.ca);
      const document = {
        ...{ openapi: "3.1.0", info: { title: "Shop", version: "1" } },
        ...{ servers: [{ url: shop.origin }] },
        paths: {
          "/items": {
            post: { operationId: "createItem", responses: { 201: { description: "Made" } } },
          },
          "/items/{item}/prices": {
            get: {
              parameters: [
                { name: "item", in: "path", required: true, schema: { enum: ["tea"] } },
                {
                  name: "day",
                  in: "query",
                  required: true,
                  schema: { type: "string", format: "date" },
                },
              ],
              responses: { 200: { description: "A price" } },
            },
          },
        },
      };
      writeFileSync(join(directory, "shop.json"), JSON.stringify(document));
      const { text: told } = await runText(
        "```sh\nagtp-openapi import shop.json --output 'my shop' --ca shop-ca.pem\n```\n",
        { directory },
      );
      const { text } = await runText(stepsOf(told), { directory });
      expect(text).toContain("the deployment is valid");
      expect(text).toContain('{"price":4.5}');
      expect(shop.seen.at(-1)?.url).toMatch(/^\/items\/tea\/prices\?day=\d{4}-\d\d-\d\d$/);
    },
  );

  it.concurrent(
    "lead from the tools of an MCP server to a governed call",
    WAITING,
    async ({ expect, onTestFinished }) => {
      const directory = placeFor(onTestFinished);
      const server = join(ROOT, "endpoints/city/calendar.mjs");
      const { outputs } = await runText(
        "```sh\nagtpd init city --yes --no-agent\n```\n```sh\ncd city\n" +
          `agtp-mcp import --name city -o endpoints/city -- node ${server} 2> told > made\n` +
          "sed -n '/^\\[\\[mcp/,$p' made >> agtp-server.toml\ncat told\n```\n",
        { directory },
      );
      const { text } = await runText(stepsOf(outputs[1] ?? ""), {
        directory: join(directory, "city"),
      });
      expect(text).toContain("the deployment is valid");
      expect(text).toContain('"events":[');
    },
  );
});
