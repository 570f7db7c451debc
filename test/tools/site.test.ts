/** The documentation as a site: every link leads somewhere, the search finds, and nobody else is asked. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { HOME } from "../../tools/site/layout.ts";
import { renderPages } from "../../tools/site/pages.ts";
import { writeSite } from "../../tools/site/write-site.ts";
import { describeInBrowser, holdBack, openPage } from "../support/browser.ts";
import { makeDirectory } from "../support/directory.ts";
import { ROOT } from "../support/source-tree.ts";

describe("the site", () => {
  it("has no link that leads nowhere", () => {
    const directory = makeDirectory();
    const pages = writeSite(ROOT, directory);
    expect(pages).toContain("docs/reference/metrics.html");
    const read = (path: string) => readFileSync(join(directory, path), "utf8");
    const broken = pages.flatMap((page) =>
      [...read(page).matchAll(/(?:href|src)="([^"]+)"/g)]
        .map(([, target = ""]) => target)
        .filter((target) => !/^[a-z]+:/i.test(target))
        .filter((target) => {
          const [path = "", anchor] = target.split("#");
          const there = path === "" ? page : relative("/", join("/", dirname(page), path));
          if (!existsSync(join(directory, there))) return true;
          return anchor !== undefined && !read(there).includes(`id="${anchor}"`);
        })
        .map((target) => `${page}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it("has an anchor for each heading, also where a page has one twice", () => {
    const root = makeDirectory();
    for (const name of ["README", "CONTRIBUTING", "SECURITY"])
      put(root, `${name}.md`, "# A page\n");
    for (const folder of ["docs", "examples"]) mkdirSync(join(root, folder));
    put(root, "CHANGELOG.md", "# Changes\n\n### MCP\n\n### Limits\n\n### MCP\n\n### MCP\n");
    const changes = renderPages(root).find(({ path }) => path === "CHANGELOG.html");
    const anchors = ["changes", "mcp", "limits", "mcp-1", "mcp-2"];
    expect(changes?.sections.map(({ id }) => id)).toEqual(
      anchors.map((a) => `CHANGELOG.html#${a}`),
    );
    for (const anchor of anchors) expect(changes?.html).toContain(`id="${anchor}"`);
  });
});

function put(root: string, path: string, text: string): void {
  writeFileSync(join(root, path), text);
}

describeInBrowser("the site in a browser", () => {
  it("is searched and read without a network", async () => {
    const directory = makeDirectory();
    writeSite(ROOT, directory);
    const page = await openPage();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(pathToFileURL(join(directory, "index.html")).href);
    await page.getByRole("heading", { level: 1, name: "Documentation" }).waitFor();
    await page.getByRole("searchbox").fill("passkey");
    const found = page.getByRole("list", { name: "Found" }).getByRole("link");
    await found.first().waitFor();
    expect(await found.allTextContents()).toContain("The operator's console: Passkeys");
    await found.filter({ hasText: "The operator's console: Passkeys" }).click();
    await page.waitForURL(/console\.html#passkeys$/);
    await page.getByRole("navigation").getByRole("link", { name: "Ten minutes" }).click();
    await page.getByRole("heading", { level: 1, name: "Ten minutes" }).waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    for (const name of ["start", "production", "architecture", "reference/configuration"]) {
      await page.goto(pathToFileURL(join(directory, `docs/${name}.html`)).href);
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      expect(wide, `${name} is wider than a telephone`).toBeLessThanOrEqual(0);
    }
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.filter((url) => !url.startsWith("file:"))).toEqual([]);
    expect(page.faults).toEqual([]);
  });

  it("finds what was typed before the search was there", async () => {
    const directory = makeDirectory();
    writeSite(ROOT, directory);
    const page = await openPage();
    const release = await holdBack(page, "**/search.js");
    await page.goto(pathToFileURL(join(directory, HOME)).href, { waitUntil: "commit" });
    await page.getByRole("searchbox").fill("passkey");
    release();
    await page.getByRole("link", { name: "The operator's console: Passkeys" }).waitFor();
  });
});
