/** `npm run docs`: the documentation as a site that is read without a network, in `site/`. */
import { writeSite } from "./site/write-site.ts";

const directory = process.argv[2] ?? "site";
const pages = writeSite(".", directory);
process.stderr.write(`${pages.length} pages in ${directory}: open ${directory}/index.html\n`);
