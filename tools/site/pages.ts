/** The pages of the site: the repository's Markdown files as HTML. */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import MarkdownIt from "markdown-it";

/** A section of a page under one heading, the unit of the search. */
export interface Section {
  /** `docs/start.html#an-endpoint` */
  readonly id: string;
  readonly title: string;
  readonly heading: string;
  readonly text: string;
}

/** A page of the site. */
export interface SitePage {
  /** Relative to the site, with forward slashes. */
  readonly path: string;
  readonly title: string;
  readonly html: string;
  readonly sections: readonly Section[];
  /** Files of the repository that the page links to or shows, except pages. */
  readonly files: readonly string[];
}

const ROOT_PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];
const COMMENT = /<!--[\s\S]*?-->\n?/g;

const markdown = new MarkdownIt({ html: false });

/** Renders the pages of the repository at `root`. */
export function renderPages(root: string): readonly SitePage[] {
  const files = [...ROOT_PAGES, ...pagesBelow(root, "docs"), ...pagesBelow(root, "examples")];
  const known = new Set(files);
  return files.map((file) => renderPage(file, readFileSync(join(root, file), "utf8"), known));
}

function pagesBelow(root: string, folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !name.includes("node_modules"))
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .toSorted();
}

function renderPage(file: string, text: string, known: ReadonlySet<string>): SitePage {
  const tokens = markdown.parse(text.replace(COMMENT, ""), {});
  const files = new Set<string>();
  const path = file.replace(/\.md$/, ".html");
  const sections: { id: string; title: string; heading: string; text: string }[] = [];
  const anchors = new Map<string, number>();
  let title = "";
  for (const [index, token] of tokens.entries()) {
    const heading = token.type === "heading_open" ? (tokens[index + 1]?.content ?? "") : undefined;
    if (heading !== undefined) {
      const anchor = numbered(anchorOf(heading), anchors);
      token.attrSet("id", anchor);
      title ||= plain(heading);
      sections.push({ id: `${path}#${anchor}`, title, heading: plain(heading), text: "" });
    }
    const section = sections.at(-1);
    const isText = token.type === "inline" || token.type === "fence";
    if (section !== undefined && isText) section.text += `${plain(token.content)}\n`;
    for (const child of token.children ?? []) {
      for (const attribute of ["href", "src"]) {
        const target = String(child.attrGet(attribute) ?? "");
        if (target === "" || /^[a-z]+:/i.test(target)) continue;
        const [place = "", anchor] = target.split("#");
        const linked = place === "" ? file : posix.join(posix.dirname(file), place);
        if (!known.has(linked)) files.add(linked);
        const there = place.replace(/\.md$/, known.has(linked) ? ".html" : ".md");
        child.attrSet(attribute, anchor === undefined ? there : `${there}#${anchor}`);
      }
    }
  }
  const html = markdown.renderer.render(tokens, markdown.options, {});
  return { path, title, html, sections, files: [...files] };
}

/** Derives an anchor from a heading like common renderers. */
function anchorOf(heading: string): string {
  const kept = heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "");
  return kept.trim().replaceAll(" ", "-");
}

/** Appends a number to a duplicate anchor, because the search index needs unique ids. */
function numbered(anchor: string, earlier: Map<string, number>): string {
  const count = earlier.get(anchor) ?? 0;
  earlier.set(anchor, count + 1);
  return count === 0 ? anchor : `${anchor}-${count}`;
}

/** Removes Markdown markup from a text. */
function plain(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
}
