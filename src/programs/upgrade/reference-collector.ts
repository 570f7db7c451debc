/** Collects what the files of a deployment name, file by file, with all that cannot be understood. */

import type { DocumentPlace } from "../../base/document-place.ts";
import { type Environment, substituteVariables } from "../../base/environment.ts";
import type { Problem } from "../../base/problem.ts";
import type { DeploymentText } from "./deployment-texts.ts";
import type { MethodRole, NameRole, PathRole, Reference, References } from "./reference.ts";

/** Notes what a member names; `below` is where inside the member. An absent value is passed over. */
type Note<Role> = (role: Role, member: string, value: string | undefined, below?: string) => void;

/** Takes in what one table of a file names. */
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
