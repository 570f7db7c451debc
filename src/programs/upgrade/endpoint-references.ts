/** References of an endpoint file: its pair, its successor, and values that its path may take. */

import { documentAt } from "../../base/document-root.ts";
import { isTable } from "../../base/toml-document.ts";
import { templateParameters } from "../../catalog/path-grammar.ts";
import type { DeploymentText } from "./deployment-texts.ts";
import type { ReferenceCollector } from "./reference-collector.ts";

/** Collects from `[endpoint]`. */
export function collectEndpoint(source: DeploymentText, collector: ReferenceCollector): void {
  const root = documentAt(source.table, { file: source.file, key: "" }, collector.problems);
  const endpoint = root.at("endpoint").record();
  if (endpoint === undefined) return;
  const found = collector.from(source, endpoint);
  found.method("endpoint", "method", endpoint.at("method").text());
  const path = endpoint.at("path").text();
  found.path("endpoint-path", "path", path);
  const successor = endpoint
    .at("deprecated")
    .optional?.record()
    ?.at("successor")
    .optional?.record();
  if (successor !== undefined) {
    const named = collector.from(source, successor);
    named.method("endpoint-successor", "method", successor.at("method").optional?.text());
    named.path("endpoint-successor-path", "path", successor.at("path").optional?.text());
  }
  for (const name of templateParameters(path ?? "")) {
    for (const { below, value } of parameterValues(endpoint.at("input_schema").value, name)) {
      found.path("parameter-value", "input_schema", value, below);
    }
    for (const { below, value } of fieldValues(endpoint.at("input").value, name)) {
      found.path("parameter-value", "input", value, below);
    }
  }
}

/** A text, and where it stands inside a member of the endpoint. */
interface PlacedText {
  readonly below: string;
  readonly value: string;
}

/** The texts that JSON Schema names for a property. */
function parameterValues(schema: unknown, name: string): readonly PlacedText[] {
  const property = memberOf(memberOf(schema, "properties"), name);
  const below = `.properties.${name}`;
  const constant = memberOf(property, "const");
  return [
    ...enumTexts(property, below),
    ...(typeof constant === "string" ? [{ below: `${below}.const`, value: constant }] : []),
  ];
}

/** The texts that a field list names for a field. */
function fieldValues(lists: unknown, name: string): readonly PlacedText[] {
  return ["required", "optional"].flatMap((list) => {
    const fields = memberOf(lists, list);
    if (!Array.isArray(fields)) return [];
    return fields.flatMap((field: unknown, index) =>
      memberOf(field, "name") === name ? enumTexts(field, `.${list}[${index}]`) : [],
    );
  });
}

function enumTexts(owner: unknown, below: string): readonly PlacedText[] {
  const values = memberOf(owner, "enum");
  if (!Array.isArray(values)) return [];
  return values.flatMap((value: unknown, index) =>
    typeof value === "string" ? [{ below: `${below}.enum[${index}]`, value }] : [],
  );
}

function memberOf(value: unknown, name: string): unknown {
  return isTable(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
