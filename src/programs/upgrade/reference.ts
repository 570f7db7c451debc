/**
 * A place in a deployment's files that names a method or a path, and what it names it for: the role
 * decides what a change of the catalog does to it.
 */
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
export type NameRole = "custom" | "alias";

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
