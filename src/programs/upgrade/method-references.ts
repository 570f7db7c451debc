/**
 * Collects the methods and pairs that a deployment names. In an endpoint file: its pair, its
 * successor, and values that its path may take; in the configuration: the method policy, the
 * methods that need a token, and the pairs that the manifest lists. Values may come out of the
 * environment, as the daemon takes them.   AGTP-API §9
 */
import { type DocumentPlace, documentAt } from "../../base/document-place.ts";
import { describeToml } from "../../base/document-style.ts";
import { isTable } from "../../base/toml-document.ts";
import { templateParameters } from "../../catalog/path-grammar.ts";
import type { DeploymentText } from "./deployment-texts.ts";
import type { ReferenceCollector } from "./reference.ts";

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

/** Collects from `[policies]`, `[[hosted_protocols]]` and `[[agntcy]]`. */
export function collectPolicies(source: DeploymentText, collector: ReferenceCollector): void {
  const root = documentAt(source.table, { file: source.file, key: "" }, collector.problems);
  const policies = root.at("policies").optional?.record();
  const methods = policies?.at("methods").optional?.record();
  if (methods !== undefined) collectMethodPolicy(source, methods, collector);
  const oauth = policies?.at("oauth").optional?.record();
  if (oauth !== undefined) {
    collectList(
      "required_on_methods",
      oauth,
      noteAs("token", collector.from(source, oauth).method),
    );
  }
  for (const entry of root.at("hosted_protocols").records()) {
    const found = collector.from(source, entry);
    found.method("hosted-protocol", "method", entry.at("method").text());
    found.path("hosted-protocol-path", "path", entry.at("path").text());
  }
  for (const entry of root.at("agntcy").records()) {
    collector.from(source, entry).path("agent-path", "base", entry.at("base").optional?.text());
  }
}

function collectMethodPolicy(
  source: DeploymentText,
  methods: DocumentPlace,
  collector: ReferenceCollector,
): void {
  const found = collector.from(source, methods);
  if (methods.at("allow").value !== "*")
    collectList("allow", methods, noteAs("allow", found.method));
  collectList("disallow", methods, noteAs("disallow", found.method));
  const legacy = methods.at("legacy").value;
  if (legacy !== "*" && legacy !== "NONE") {
    collectList("legacy", methods, noteAs("legacy", found.method));
  }
  collectList("custom", methods, noteAs("custom", found.name));
  collectAliases(source, methods, collector);
  for (const redirect of methods.at("redirects").records()) {
    const within = collector.from(source, redirect);
    within.method("redirect-from", "from_method", redirect.at("from_method").text());
    within.method("redirect-to", "to_method", redirect.at("to_method").text());
    within.path("redirect-path", "from_path", redirect.at("from_path").optional?.text());
    within.path("redirect-path", "to_path", redirect.at("to_path").optional?.text());
  }
}

function collectAliases(
  source: DeploymentText,
  methods: DocumentPlace,
  collector: ReferenceCollector,
): void {
  const aliases = methods.at("aliases").optional?.record();
  if (aliases === undefined) return;
  const found = collector.from(source, aliases);
  for (const name of aliases.names) {
    found.name("alias", name, name);
    found.method("alias-target", name, aliases.at(name).text());
  }
}

type NoteItem = (member: string, value: string, below: string) => void;

function noteAs<Role>(
  role: Role,
  note: (role: Role, member: string, value: string, below: string) => void,
): NoteItem {
  return (member, value, below) => note(role, member, value, below);
}

/** Items by their place in the file, although some of them may be no text or stand there twice. */
function collectList(member: string, owner: DocumentPlace, note: NoteItem): void {
  for (const item of owner.at(member).optional?.items("a list of methods") ?? []) {
    const { value, name } = item;
    if (typeof value === "string") note(member, value, `[${name}]`);
    else item.fail(`${describeToml(value)}, expected a method`);
  }
}
