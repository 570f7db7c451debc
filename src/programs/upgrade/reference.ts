/**
 * Places in a deployment's files that name a method or a path, with the role of the name, which
 * decides the effect of a catalog change. In an endpoint file: its pair, its successor, and
 * possible values of its path parameters; in the configuration: the method policy, the methods that
 * need a token or an approval, and the pairs that the manifest lists. Values may come from the
 * environment, as for the daemon; values that cannot be interpreted are reported.   AGTP-API §9
 */
import { type DocumentPlace, documentAt } from "../../base/document-place.ts";
import { describeToml } from "../../base/document-style.ts";
import { atPointer, fromPointer, memberAt } from "../../base/dotted-key.ts";
import { type Environment, substituteVariables } from "../../base/environment.ts";
import { decodePart } from "../../base/percent-encoding.ts";
import type { Problem } from "../../base/problem.ts";
import type { TomlTable } from "../../base/toml-document.ts";
import { templateParameters } from "../../catalog/path-grammar.ts";
import type { DeploymentText } from "./deployment-texts.ts";

/** Roles of a method that the catalog must have. */
export type MethodRole =
  | "endpoint"
  | "endpoint-successor"
  | "step"
  | "pattern"
  | "allow"
  | "disallow"
  | "legacy"
  | "redirect-from"
  | "redirect-to"
  | "alias-target"
  | "token"
  | "approval"
  | "hosted-protocol"
  /** An endpoint that an agent of a pack uses as a tool. */
  | "tool"
  /** An endpoint of the server itself, without a file. */
  | "own-endpoint";

/** Roles of a name that is the server's own until the catalog defines it, too. */
type NameRole = "custom" | "alias";

/** Roles of a path, which must not contain a method's name. */
export type PathRole =
  | "endpoint-path"
  | "endpoint-successor-path"
  | "step-path"
  | "pattern-path"
  /** A word in a path pattern that matches a whole segment. */
  | "pattern-segment"
  | "redirect-path"
  | "approval-path"
  | "hosted-protocol-path"
  | "agent-path"
  /** A possible value of a path parameter. */
  | "parameter-value";

/** One occurrence of a name in a file. */
export interface Reference<Role extends string = string> {
  readonly source: DeploymentText;
  /** Dotted key in the file. */
  readonly key: string;
  readonly role: Role;
  readonly value: string;
  /** False if the value came from the environment, so that it cannot be replaced in the file. */
  readonly isWritten: boolean;
  readonly within: TomlTable;
}

/** Every method and path that a deployment's files name. */
export interface References {
  /** The configuration itself; undefined if it could not be read. */
  readonly config: DeploymentText | undefined;
  readonly methods: readonly Reference<MethodRole>[];
  readonly names: readonly Reference<NameRole>[];
  readonly paths: readonly Reference<PathRole>[];
}

/** Notes the value of a member; `below` is the place inside it. An undefined value is ignored. */
type Note<Role> = (role: Role, member: string, value: string | undefined, below?: string) => void;

interface FoundIn {
  readonly method: Note<MethodRole>;
  readonly name: Note<NameRole>;
  readonly path: Note<PathRole>;
}

/** Collects references. */
export class ReferenceCollector implements References {
  readonly methods: Reference<MethodRole>[] = [];
  readonly names: Reference<NameRole>[] = [];
  readonly paths: Reference<PathRole>[] = [];
  readonly problems: Problem[] = [];
  readonly config: DeploymentText | undefined;
  readonly #environment: Environment;

  constructor(config: DeploymentText | undefined, environment: Environment) {
    this.config = config;
    this.#environment = environment;
  }

  from(source: DeploymentText, table: DocumentPlace): FoundIn {
    const within = Object.fromEntries(table.names.map((name) => [name, table.at(name).value]));
    const noteIn =
      <Role extends string>(list: Reference<Role>[]): Note<Role> =>
      (role, member, written, below = "") => {
        if (written === undefined) return;
        const key = table.at(member).key + below;
        const value = this.#expand(source, key, written);
        if (value === undefined) return;
        list.push({ source, key, role, value, isWritten: value === written, within });
      };
    return {
      method: noteIn(this.methods),
      name: noteIn(this.names),
      path: noteIn(this.paths),
    };
  }

  /** Only a configuration takes values from the environment; elsewhere `${VAR}` is literal text. */
  #expand(source: DeploymentText, key: string, written: string): string | undefined {
    if (source.kind !== "config") return written;
    const { text, faults = [] } = substituteVariables(written, this.#environment);
    if (text === undefined) {
      this.problems.push({ file: source.file, key, message: faults.join(", ") });
    }
    return text;
  }
}

/** Collects the references of `[endpoint]`. */
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

/** A text, and its place inside a member of the endpoint. */
interface PlacedText {
  readonly below: string;
  readonly value: string;
}

/** The texts that a JSON Schema allows for a property, anywhere in the schema. */
function parameterValues(root: unknown, name: string): readonly PlacedText[] {
  const properties = partsOf(root, "").map((part) => `${part}/properties/${name}`);
  return properties
    .flatMap((property) => partsOf(root, property))
    .flatMap((part) => {
      const schema = atPointer(part, root);
      const below = `.${fromPointer(part, root)}`;
      const constant = memberAt(schema, "const");
      return [
        ...enumTexts(schema, below),
        ...(typeof constant === "string" ? [{ below: `${below}.const`, value: constant }] : []),
      ];
    });
}

/** A schema and its references and branches, as pointers from the root. */
function partsOf(root: unknown, start: string): readonly string[] {
  const parts = new Set([start]);
  // The loop also visits parts that it adds.
  for (const part of parts) {
    const schema = atPointer(part, root);
    const reference = memberAt(schema, "$ref");
    const target = typeof reference === "string" ? decodePart(reference.slice(1)) : undefined;
    if (target === "" || target?.startsWith("/")) parts.add(target);
    for (const keyword of ["allOf", "anyOf", "oneOf"]) {
      const branches = memberAt(schema, keyword);
      if (!Array.isArray(branches)) continue;
      for (const index of branches.keys()) parts.add(`${part}/${keyword}/${index}`);
    }
  }
  return [...parts];
}

/** The texts that a field list allows for a field. */
function fieldValues(lists: unknown, name: string): readonly PlacedText[] {
  return ["required", "optional"].flatMap((list) => {
    const fields = memberAt(lists, list);
    if (!Array.isArray(fields)) return [];
    return fields.flatMap((field: unknown, index) =>
      memberAt(field, "name") === name ? enumTexts(field, `.${list}[${index}]`) : [],
    );
  });
}

function enumTexts(owner: unknown, below: string): readonly PlacedText[] {
  const values = memberAt(owner, "enum");
  if (!Array.isArray(values)) return [];
  return values.flatMap((value: unknown, index) =>
    typeof value === "string" ? [{ below: `${below}.enum[${index}]`, value }] : [],
  );
}

/** Collects the references of `[policies]`, `[[hosted_protocols]]` and `[[agntcy]]`. */
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
  for (const rule of policies?.at("approvals").records() ?? []) {
    const found = collector.from(source, rule);
    found.method("approval", "method", rule.at("method").optional?.text());
    found.path("approval-path", "path", rule.at("path").optional?.text());
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

/** Notes the items of a list by index, because some may be no text, or duplicates. */
function collectList(member: string, owner: DocumentPlace, note: NoteItem): void {
  for (const item of owner.at(member).optional?.items("a list of methods") ?? []) {
    const { value, name } = item;
    if (typeof value === "string") note(member, value, `[${name}]`);
    else item.fail(`${describeToml(value)}, expected a method`);
  }
}
