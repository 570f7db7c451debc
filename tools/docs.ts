/** `npm run docs`: builds the documentation as an offline site, in `site/`. */
import { command } from "../src/programs/shell/command.ts";
import { runHere } from "./process-terminal.ts";
import { writeSite } from "./site/write-site.ts";

await runHere(
  command({
    name: "docs",
    description: "writes the documentation as a site that is read without a network",
    args: { "[directory]": "where to; site, if it is left out" },
    run: ({ directory = "site" }, { err }) => {
      const pages = writeSite(".", directory);
      err.write(`${pages.length} pages in ${directory}: open ${directory}/index.html\n`);
      return true;
    },
  }),
);
