/**
 * Reads a deployment and says what a step from one catalog to another does to it, each finding with
 * its line. Findings are complete only where no problem is an error.   AGTP-API §4.7
 */

import { documentAt } from "../../base/document-root.ts";
import type { Environment } from "../../base/environment.ts";
import type { Problem } from "../../base/problem.ts";
import { type DeploymentText, type DeploymentTexts, readDeployment } from "./deployment-texts.ts";
import { type DeploymentFindings, findConflicts } from "./find-conflicts.ts";
import type { CatalogStep } from "./method-judge.ts";
import { collectEndpoint, collectPolicies } from "./method-references.ts";
import type { Reference, References } from "./reference.ts";
import { ReferenceCollector } from "./reference-collector.ts";
import { locateKeys, placeOf, type TomlPlace, type TomlPlaces } from "./toml-places.ts";

/** The deployment to read, and the catalogs to judge it by. */
export interface ScanOptions extends CatalogStep {
  /** Absolute. */
  readonly directory: string;
  readonly config: string;
  readonly environment: Environment;
}

/** A deployment, judged. */
export interface Scan extends DeploymentFindings {
  readonly texts: DeploymentTexts;
  readonly references: References;
  readonly problems: readonly Problem[];
  /** The place of something in its file; undefined where it is not written at all. */
  placeOf(reference: Reference): TomlPlace | undefined;
}

/** Reads and judges; writes nothing. */
export function scanDeployment(options: ScanOptions): Scan {
  const texts = readDeployment(options);
  const config = texts.files.find(({ kind }) => kind === "config");
  const references = new ReferenceCollector(config, options.environment);
  for (const source of texts.files) {
    switch (source.kind) {
      case "config":
        collectPolicies(source, references);
        break;
      case "endpoint":
        collectEndpoint(source, references);
        break;
      case "recipe":
        collectRecipes(source, references);
        break;
    }
  }
  const findings = findConflicts(references, options);
  return {
    ...findings,
    texts,
    references,
    problems: [...texts.problems, ...references.problems],
    placeOf: createPlaceFinder(),
  };
}

/** Each file is read for places once, and only when somebody asks. */
function createPlaceFinder(): Scan["placeOf"] {
  const known = new Map<DeploymentText, TomlPlaces>();
  return ({ source, key }) => {
    const places = known.get(source) ?? locateKeys(source.text);
    known.set(source, places);
    return placeOf(places, key);
  };
}

/** Collects from every `[[recipe]]`. */
function collectRecipes(source: DeploymentText, collector: ReferenceCollector): void {
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
