/** Removes development dependencies from a lockfile. */

interface LockedPackage {
  readonly dev?: boolean;
  readonly devDependencies?: unknown;
}

interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** Converts the text of a lockfile to a shrinkwrap. */
export function shrinkLock(text: string): string {
  const lock = JSON.parse(text) as Lockfile;
  const needed = Object.entries(lock.packages).filter(([, { dev }]) => dev !== true);
  const packages = Object.fromEntries(
    needed.map(([path, { devDependencies: _, ...entry }]) => [path, entry]),
  );
  return `${JSON.stringify({ ...lock, packages }, null, 2)}\n`;
}
