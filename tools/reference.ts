/** `npm run reference`: writes the pages of docs/reference that are generated from code. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { command } from "../src/programs/shell/command.ts";
import { runHere } from "./process-terminal.ts";
import { referencePages } from "./reference/pages.ts";

await runHere(
  command({
    name: "reference",
    description: "writes the pages of the reference that are made from the code",
    args: { "[directory]": "that has them; docs/reference, if it is left out" },
    run: ({ directory = "docs/reference" }, { err }) => {
      for (const [file, text] of referencePages()) {
        writeFileSync(join(directory, file), text);
        err.write(`wrote ${join(directory, file)}\n`);
      }
      return true;
    },
  }),
);
