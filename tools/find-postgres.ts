/** Finds the programs of PostgreSQL, for the torture tool and the tests. */
import { accessSync, constants, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The prefix of a command line that runs as an ordinary user: PostgreSQL does not run as root. */
export const POSTGRES_USER: readonly string[] =
  process.getuid?.() === 0 ? ["runuser", "-u", "nobody", "--"] : [];

/** The folder of initdb and pg_ctl: the variable POSTGRES_BIN, else Debian's newest version, else the PATH's. */
export function findPostgres(): string | undefined {
  const { POSTGRES_BIN: named, PATH: path = "" } = process.env;
  if (named !== undefined && named !== "") return named;
  const folders = [...debianFolders(), ...path.split(delimiter)];
  return folders.find((folder) => isProgram(join(folder, "initdb")));
}

/** Debian's folders, newest version first. */
function debianFolders(): readonly string[] {
  const root = "/usr/lib/postgresql";
  try {
    const versions = readdirSync(root).filter((name) => Number(name) >= 15);
    const sorted = versions.sort((left, right) => Number(right) - Number(left));
    return sorted.map((version) => join(root, version, "bin"));
  } catch {
    return [];
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
