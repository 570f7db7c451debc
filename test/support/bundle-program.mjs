/**
 * Makes one file of a program and all that it imports, with the bytecode that it has once it has run: takes
 * the program, and the path of the file. What comes on standard input goes to the program.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Script } from "node:vm";
import { rolldown } from "rolldown";

const [source, target] = process.argv.slice(2);

const bundle = await rolldown({ input: source, platform: "node" });
const { output } = await bundle.generate({ format: "cjs", codeSplitting: false });
await bundle.close();
const opening = "(function (exports, require, module, __filename) {";
const ascii = output[0].code.replace(
  /[^\0-\x7f]/g,
  (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
);
writeFileSync(`${target}.text`, `${opening}${ascii}\n})`);
// Its folder gets another name.
writeFileSync(
  target,
  `const { readFileSync } = require("node:fs");
const { Script } = require("node:vm");
const script = new Script(readFileSync(\`\${__filename}.text\`, "latin1"), {
  filename: __filename,
  cachedData: readFileSync(\`\${__filename}.bytecode\`),
});
script.runInThisContext()(exports, require, module, __filename);
`,
);

process.argv = [process.execPath, target];
const script = new Script(readFileSync(`${target}.text`, "latin1"), { filename: target });
process.once("exit", () => writeFileSync(`${target}.bytecode`, script.createCachedData()));
script.runInThisContext()({}, createRequire(target), { exports: {} }, target);
