/** What a recipe file names: the pair that each recipe answers for, and the pairs of its steps. */
import { TableReader } from "../../base/table-reader.ts";
import type { DeploymentText } from "./deployment-texts.ts";
import type { ReferenceCollector } from "./reference-collector.ts";

/** Collects from every `[[recipe]]`. */
export function collectRecipes(source: DeploymentText, collector: ReferenceCollector): void {
  const root = new TableReader(source.table, { file: source.file, key: "" }, collector.problems);
  if (!root.has("recipe")) root.fail("recipe", "is missing, expected tables as in [[recipe]]");
  for (const recipe of root.tables("recipe")) {
    const pattern = recipe.optionalTable("pattern");
    if (pattern !== undefined) {
      const found = collector.from(source, pattern);
      const key = pattern.has("method_exact") ? "method_exact" : "name_exact";
      found.method("pattern", key, pattern.text(key));
      found.path("pattern-path", "path_exact", pattern.optionalText("path_exact"));
    }
    for (const step of recipe.tables("steps")) {
      const found = collector.from(source, step);
      found.method("step", "method", step.text("method"));
      found.path("step-path", "path", step.optionalText("path"));
    }
  }
}
