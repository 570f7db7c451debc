/**
 * Build step: bundles the modules of the console's page. Thirty requests for them took two fifths
 * of the CPU time of a first page view. The libraries remain separate files.
 */
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const bundle = await rolldown({
  input: `${ROOT}src/modules/console/page/main.ts`,
  platform: "browser",
  external: (id) => !/^[./]/.test(id),
});
await bundle.write({
  file: `${ROOT}dist/bundle/console-page.js`,
  format: "esm",
  minify: false,
  comments: false,
});
await bundle.close();
