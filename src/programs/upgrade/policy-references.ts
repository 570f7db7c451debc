/**
 * References of a configuration: the method policy, the methods that need a token, and the pairs that
 * the manifest lists. Values may come out of the environment, as the daemon takes them.
 * AGTP-API §9
 */
import type { DocumentPlace } from "../../base/document-place.ts";
import { documentAt } from "../../base/document-root.ts";
import { describeToml } from "../../base/document-style.ts";
import type { DeploymentText } from "./deployment-texts.ts";
import type { ReferenceCollector } from "./reference-collector.ts";

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
