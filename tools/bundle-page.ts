/**
 * Part of the build: puts the modules of the console's page into one. Thirty requests for them took two fifths of
 * the processor's time of a first look. The libraries stay files of their own.
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
