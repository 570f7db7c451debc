/** References of a recipe file: the pair that each recipe answers for, and the pairs of its steps. */
import { documentAt } from "../../base/document-root.ts";
import type { DeploymentText } from "./deployment-texts.ts";
import type { ReferenceCollector } from "./reference-collector.ts";

/** Collects from every `[[recipe]]`. */
export function collectRecipes(source: DeploymentText, collector: ReferenceCollector): void {
  const root = documentAt(source.table, { file: source.file, key: "" }, collector.problems);
  if (!root.has("recipe")) root.at("recipe").fail("is missing, expected tables as in [[recipe]]");
  for (const recipe of root.at("recipe").records()) {
    const pattern = recipe.at("pattern").optional?.record();
    if (pattern !== undefined) {
      const found = collector.from(source, pattern);
      const key = pattern.has("method_exact") ? "method_exact" : "name_exact";
      found.method("pattern", key, pattern.at(key).text());
      found.path("pattern-path", "path_exact", pattern.at("path_exact").optional?.text());
    }
    for (const step of recipe.at("steps").records()) {
      const found = collector.from(source, step);
      found.method("step", "method", step.at("method").text());
      found.path("step-path", "path", step.at("path").optional?.text());
    }
  }
}
