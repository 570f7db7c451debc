/** Says on standard error which modules a process loads, a line each: CommonJS, which has no such hook, when it ends. */
import { writeSync } from "node:fs";
import { createRequire, register } from "node:module";
import { pathToFileURL } from "node:url";

const hooks = `
import { writeSync } from "node:fs";
export const load = (url, context, next) => {
  writeSync(2, "loaded " + url + "\\n");
  return next(url, context);
};`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);

const { cache } = createRequire(import.meta.url);
process.on("exit", () => {
  for (const file of Object.keys(cache)) writeSync(2, `loaded ${pathToFileURL(file)}\n`);
});
