/**
 * Places in a deployment's files that name a method or a path, and what they name it for: the role
 * decides what a change of the catalog does to it. Collected file by file, with all that cannot be
 * understood.
 */

import type { DocumentPlace } from "../../base/document-place.ts";
import { type Environment, substituteVariables } from "../../base/environment.ts";
import type { Problem } from "../../base/problem.ts";
import type { TomlTable } from "../../base/toml-document.ts";
import type { DeploymentText } from "./deployment-texts.ts";

/** Roles of a method that must be known. */
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
  | "hosted-protocol";

/** Roles of a name that is the server's own, until the catalog has it too. */
type NameRole = "custom" | "alias";

/** Roles of a path, in which no method may be named. */
export type PathRole =
  | "endpoint-path"
  | "endpoint-successor-path"
  | "step-path"
  | "pattern-path"
  | "redirect-path"
  | "hosted-protocol-path"
  | "agent-path"
  /** A value that the parameter of an endpoint's path may have. */
  | "parameter-value";

/** The text of a place. */
export interface Reference<Role extends string = string> {
  readonly source: DeploymentText;
  /** Dotted key in the file. */
  readonly key: string;
  readonly role: Role;
  readonly value: string;
  /** False where it came out of the environment, so that nothing in the file can be replaced. */
  readonly isWritten: boolean;
  /** The table that it stands in. */
  readonly within: TomlTable;
}

/** Everything that the files of a deployment name. */
export interface References {
  /** The configuration itself; absent where it could not be read. */
  readonly config: DeploymentText | undefined;
  readonly methods: readonly Reference<MethodRole>[];
  readonly names: readonly Reference<NameRole>[];
  readonly paths: readonly Reference<PathRole>[];
}

/** Notes what a member names; `below` is where inside the member. An absent value is passed over. */
type Note<Role> = (role: Role, member: string, value: string | undefined, below?: string) => void;

interface FoundIn {
  readonly method: Note<MethodRole>;
  readonly name: Note<NameRole>;
  readonly path: Note<PathRole>;
}

/** The references so far. */
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

  /** Collects from one table of a file. */
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
