/** Writes the site: pages, the search index, and the files that pages show or link to. */
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { HOME, layout, SEARCH, STYLE } from "./layout.ts";
import { renderPages } from "./pages.ts";

/** Writes the pages of the repository at `root` into `directory`; returns their paths there. */
export function writeSite(root: string, directory: string): readonly string[] {
  const pages = renderPages(root);
  const home = pages.find(({ path }) => path === HOME);
  if (home === undefined) throw new Error(`there is no ${HOME}`);
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  };
  for (const page of pages) put(page.path, layout(page, home));
  for (const file of new Set(pages.flatMap(({ files }) => files))) {
    if (statSync(join(root, file)).isFile()) {
      cpSync(join(root, file), join(directory, file), { recursive: true });
    }
  }
  const sections = JSON.stringify(pages.flatMap((page) => page.sections));
  const library = createRequire(import.meta.url).resolve("minisearch");
  const umd = join(dirname(library), "../umd/index.js");
  put("minisearch.js", readFileSync(umd, "utf8").replace(/^\/\/# sourceMappingURL=.*$/m, ""));
  put("search-index.js", `"use strict";\nconst SECTIONS = ${sections};\n`);
  put("search.js", SEARCH);
  put("style.css", STYLE);
  put("index.html", `<!doctype html><meta http-equiv="refresh" content="0; url=${HOME}">\n`);
  return pages.map(({ path }) => path);
}
