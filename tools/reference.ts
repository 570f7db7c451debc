/** `npm run reference`: writes the pages of docs/reference that are made from the code. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { referencePages } from "./reference/pages.ts";

const directory = process.argv[2] ?? "docs/reference";
for (const [file, text] of referencePages()) {
  writeFileSync(join(directory, file), text);
  process.stderr.write(`wrote ${join(directory, file)}\n`);
}
