/**
 * What a configuration names: the method policy, the methods that need a token, and the pairs that
 * the manifest lists. Values may come out of the environment, as the daemon takes them.
 * AGTP-API §9
 */
import { describeToml, TableReader } from "../../base/table-reader.ts";
import type { DeploymentText } from "./deployment-texts.ts";
import type { ReferenceCollector } from "./reference-collector.ts";

/** Collects from `[policies]`, `[[hosted_protocols]]` and `[[agntcy]]`. */
export function collectPolicies(source: DeploymentText, collector: ReferenceCollector): void {
  const root = new TableReader(source.table, { file: source.file, key: "" }, collector.problems);
  const policies = root.optionalTable("policies");
  const methods = policies?.optionalTable("methods");
  if (methods !== undefined) collectMethodPolicy(source, methods, collector);
  const oauth = policies?.optionalTable("oauth");
  if (oauth !== undefined) {
    collectList(
      "required_on_methods",
      oauth,
      noteAs("token", collector.from(source, oauth).method),
    );
  }
  for (const entry of root.tables("hosted_protocols")) {
    const found = collector.from(source, entry);
    found.method("hosted-protocol", "method", entry.text("method"));
    found.path("hosted-protocol-path", "path", entry.text("path"));
  }
  for (const entry of root.tables("agntcy")) {
    collector.from(source, entry).path("agent-path", "base", entry.optionalText("base"));
  }
}

function collectMethodPolicy(
  source: DeploymentText,
  methods: TableReader,
  collector: ReferenceCollector,
): void {
  const found = collector.from(source, methods);
  if (methods.raw("allow") !== "*") collectList("allow", methods, noteAs("allow", found.method));
  collectList("disallow", methods, noteAs("disallow", found.method));
  const legacy = methods.raw("legacy");
  if (legacy !== "*" && legacy !== "NONE") {
    collectList("legacy", methods, noteAs("legacy", found.method));
  }
  collectList("custom", methods, noteAs("custom", found.name));
  collectAliases(source, methods, collector);
  for (const redirect of methods.tables("redirects")) {
    const within = collector.from(source, redirect);
    within.method("redirect-from", "from_method", redirect.text("from_method"));
    within.method("redirect-to", "to_method", redirect.text("to_method"));
    within.path("redirect-path", "from_path", redirect.optionalText("from_path"));
    within.path("redirect-path", "to_path", redirect.optionalText("to_path"));
  }
}

function collectAliases(
  source: DeploymentText,
  methods: TableReader,
  collector: ReferenceCollector,
): void {
  const aliases = methods.optionalTable("aliases");
  if (aliases === undefined) return;
  const found = collector.from(source, aliases);
  for (const name of aliases.names) {
    found.name("alias", name, name);
    found.method("alias-target", name, aliases.text(name));
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
function collectList(member: string, owner: TableReader, note: NoteItem): void {
  if (!owner.has(member)) return;
  const list = owner.raw(member);
  if (!Array.isArray(list)) {
    owner.fail(member, `${describeToml(list)}, expected a list of methods`);
    return;
  }
  for (const [index, item] of list.entries()) {
    const below = `[${index}]`;
    if (typeof item === "string") note(member, item, below);
    else {
      const { file, key } = owner.at(member);
      owner.report({ file, key: key + below, message: `${describeToml(item)}, expected a method` });
    }
  }
}
