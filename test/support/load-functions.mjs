/**
 * Loads handler functions with the built daemon's own loader, under plain Node: no test runner's
 * module loading is in the way. Takes a root and phases of files to write and references to load;
 * each phase has a new loader, as a reload does. Prints what came of every reference as JSON.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ModuleEnds } from "../../dist/src/handlers/module-ends.js";
import { createModuleLoader } from "../../dist/src/handlers/module-loader.js";

const [root, phases] = process.argv.slice(2);
const place = { file: "endpoints/x.toml", key: "endpoint.handler.function" };

async function loadAndCall(loader, reference) {
  const { handler, problems } = await loader.load(reference, place);
  try {
    return { problems, result: await handler?.({ input: {} }) };
  } catch (error) {
    return { problems, stack: error.stack };
  }
}

const outcomes = [];
for (const { files = {}, references, importTimeoutMs = 30_000, slowAfterMs } of JSON.parse(
  phases,
)) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const told = [];
  const onSlow = slowAfterMs && { afterMs: slowAfterMs, tell: (message) => told.push(message) };
  const ends = new ModuleEnds((message) => told.push(message));
  const loader = createModuleLoader({ root, importTimeoutMs, onSlow, ends });
  const outcome = {};
  for (const reference of references) outcome[reference] = await loadAndCall(loader, reference);
  await ends.close();
  if (told.length > 0) outcome.told = told;
  outcomes.push(outcome);
}
process.stdout.write(JSON.stringify(outcomes));
