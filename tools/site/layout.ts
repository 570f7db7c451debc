/** The layout of every page: navigation, search, and content. */
import { posix } from "node:path";
import type { SitePage } from "./pages.ts";

/** The start page: the documentation's table of contents. */
export const HOME = "docs/README.html";

/** The complete HTML of a page. */
export function layout(page: SitePage, home: SitePage): string {
  const up = "../".repeat(page.path.split("/").length - 1);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self' file: data:; style-src 'self' file:; script-src 'self' file:">
<title>${escapeHtml(page.title)} · agtpd</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}style.css">
</head>
<body data-up="${up}">
<header>
<a class="name" href="${up}${HOME}">agtpd</a>
<form role="search"><input type="search" aria-label="Search" placeholder="Search" autocomplete="off"></form>
<a class="to-pages" href="#pages">Pages</a>
</header>
<ul class="found" aria-label="Found" hidden></ul>
<div class="columns">
<nav id="pages" aria-label="Pages">${navigation(page, home)}</nav>
<main>
${page.html}</main>
</div>
<script src="${up}minisearch.js"></script>
<script src="${up}search-index.js"></script>
<script src="${up}search.js"></script>
</body>
</html>
`;
}

/** The navigation: the table of contents by headings. */
function navigation(page: SitePage, home: SitePage): string {
  const folder = posix.dirname(home.path);
  const here = posix.dirname(page.path);
  const parts = [...home.html.matchAll(/<h2[^>]*>(.*?)<\/h2>|<li><a href="([^"]+)">(.*?)<\/a>/g)];
  const lines = parts.map(([, heading, href = "", name = ""]) => {
    if (heading !== undefined) return `<h2>${heading}</h2>`;
    const target = posix.join(folder, href);
    const isHere = target === page.path ? ' aria-current="page"' : "";
    return `<a href="${posix.relative(here, target)}"${isHere}>${name}</a>`;
  });
  return lines.join("\n");
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

/** style.css */
export const STYLE = `:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }
body { margin: 0; font: 16px/1.6 system-ui, sans-serif; }
header { display: flex; gap: 1rem; align-items: center; padding: 0.6rem 1.2rem; border-bottom: 1px solid var(--line); }
.name { font-weight: 600; text-decoration: none; color: inherit; }
input { font: inherit; padding: 0.2rem 0.6rem; width: min(24rem, 60vw); }
.found { list-style: none; margin: 0; padding: 0.6rem 1.2rem; border-bottom: 1px solid var(--line); }
.columns { display: grid; grid-template-columns: 16rem minmax(0, 56rem); gap: 2rem; padding: 1.2rem; }
nav a { display: block; text-decoration: none; padding: 0.1rem 0; }
nav h2 { font-size: 0.9rem; margin: 1rem 0 0.2rem; }
nav [aria-current] { font-weight: 600; }
pre { overflow-x: auto; padding: 0.8rem; border: 1px solid var(--line); border-radius: 4px; font-size: 0.85rem; }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: 0.9rem; }
th, td { border: 1px solid var(--line); padding: 0.3rem 0.6rem; text-align: left; vertical-align: top; }
img { max-width: 100%; }
code { overflow-wrap: anywhere; }
pre code { overflow-wrap: normal; }
.to-pages { display: none; }
@media (max-width: 50rem) {
  .columns { grid-template-columns: minmax(0, 1fr); padding: 0.6rem 1rem; }
  nav { order: 2; border-top: 1px solid var(--line); }
  .to-pages { display: inline; margin-left: auto; }
  input { width: min(24rem, 45vw); }
  td, th { min-width: 6rem; }
}
`;

/** search.js */
export const SEARCH = `"use strict";
const fields = { fields: ["heading", "title", "text"], storeFields: ["title", "heading"] };
const options = { prefix: true, fuzzy: 0.15, combineWith: "AND", boost: { heading: 4, title: 2 } };
const index = new MiniSearch(fields);
index.addAll(SECTIONS);
const input = document.querySelector("input[type=search]");
const found = document.querySelector(".found");
input.form.addEventListener("submit", (event) => {
  event.preventDefault();
  found.querySelector("a")?.click();
});
input.addEventListener("input", search);
// Readers may type before this is loaded.
search();
function search() {
  const results = index.search(input.value, options).slice(0, 12);
  found.hidden = input.value.trim() === "";
  found.replaceChildren(...(results.length === 0 ? [entry("Nothing was found.")] : results.map(link)));
}
function link({ id, title, heading }) {
  const anchor = document.createElement("a");
  anchor.href = document.body.dataset.up + id;
  anchor.textContent = heading === title ? title : title + ": " + heading;
  return entry(anchor);
}
function entry(content) {
  const item = document.createElement("li");
  item.append(content);
  return item;
}
`;
