/** Says on standard error which modules a process loads, a line each. */
import { register } from "node:module";

const hooks = `
import { writeSync } from "node:fs";
export const load = (url, context, next) => {
  writeSync(2, "loaded " + url + "\\n");
  return next(url, context);
};`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
