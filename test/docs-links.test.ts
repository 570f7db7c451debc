/** Every page can be reached, and every relative link leads to something that is there. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./support/source-tree.ts";

const docs = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name.replaceAll("\\", "/")}`);
const examples = readdirSync(join(ROOT, "examples"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `examples/${name}/README.md`);
const others = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"];
const pages = [...others, "CHANGELOG.md", ...examples, ...docs];

/** The prose of a page: what stands in code is no link and no heading. */
function proseOf(page: string): string {
  const text = readFileSync(join(ROOT, page), "utf8");
  return text.replace(/^```[\s\S]*?^```/gm, "");
}

interface Link {
  readonly page: string;
  readonly href: string;
  /** Relative to the root. */
  readonly target: string;
  readonly anchor: string | undefined;
}

/** The relative links of a page. */
function linksOf(page: string): readonly Link[] {
  const found = proseOf(page)
    .replace(/`[^`\n]*`/g, "``")
    .matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g);
  const hrefs = [...found].map(([, href = ""]) => href);
  return hrefs
    .filter((href) => !/^[a-z]+:/.test(href))
    .map((href) => {
      const [path = "", anchor] = href.split("#");
      const target = path === "" ? page : posix.join(dirname(page), path);
      return { page, href, target, anchor };
    });
}

/** Anchors as the usual renderers make them of headings. */
function anchorsOf(page: string): readonly string[] {
  const headings = proseOf(page).matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
}

const links = pages.flatMap(linksOf);

describe("the links between the pages", () => {
  it("lead to files that exist", () => {
    expect(links.length).toBeGreaterThan(40);
    const broken = links.filter(({ target }) => !existsSync(join(ROOT, target)));
    expect(broken).toEqual([]);
  });

  it("lead to headings that exist", () => {
    const anchored = links.filter(({ anchor }) => anchor !== undefined);
    expect(anchored.length).toBeGreaterThan(3);
    const broken = anchored.filter(
      ({ target, anchor = "" }) => !anchorsOf(target).includes(anchor),
    );
    expect(broken).toEqual([]);
  });

  it("reach every page from the list of the documentation, in one step", () => {
    const listed = linksOf("docs/README.md").map(({ target }) => target);
    const expected = [...docs, ...others];
    expect(expected.filter((page) => page !== "docs/README.md" && !listed.includes(page))).toEqual(
      [],
    );
    const lines = proseOf("docs/README.md").split("\n");
    const entries = lines.filter((line) => line.startsWith("- "));
    for (const entry of entries) expect(entry).toMatch(/^- \[[^\]]+\]\([^)]+\): .+\.$/);
  });

  it("reach every example from the list of the examples", () => {
    const listed = linksOf("examples/README.md").map(({ target }) => target);
    expect(listed.toSorted()).toEqual(examples.toSorted());
  });

  it("reach the list of the documentation from the README", () => {
    const targets = linksOf("README.md").map(({ target }) => target);
    expect(targets).toContain("docs/README.md");
    expect(targets.filter((target) => statSync(join(ROOT, target)).isDirectory())).toEqual([]);
  });
});
