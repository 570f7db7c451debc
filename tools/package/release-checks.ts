/** Checks whether a release may be made; each fault has a remedy. */

/** Facts about the working tree and the package. */
export interface ReleaseState {
  readonly version: string;
  /** `repository.url` of package.json, by which provenance identifies the source. */
  readonly repository: string | undefined;
  readonly changelog: string;
  /** The lines of `git status --porcelain`. */
  readonly changes: readonly string[];
  readonly tags: readonly string[];
}

const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;
const HEADING = /^## (.+)$/m;
const DATED = /^(\S+), (\d{4}-\d{2}-\d{2})$/;

/** Returns the faults in words; empty if the release may proceed. */
export function findReleaseFaults(state: ReleaseState): readonly string[] {
  const { version, repository, changes, tags } = state;
  return [
    ...(changes.length === 0
      ? []
      : [`the tree has ${changes.length} changes, the first "${changes[0]}": commit them`]),
    ...(VERSION.test(version)
      ? []
      : [`package.json: version: is "${version}", expected such as 1.2.3: npm version`]),
    ...(repository === undefined
      ? ["package.json: repository: is missing, and provenance needs it: set repository.url"]
      : []),
    ...(tags.includes(`v${version}`)
      ? [`the tag v${version} is there: raise the version, npm version`]
      : []),
    ...changelogFaults(state),
  ];
}

function changelogFaults({ version, changelog }: ReleaseState): readonly string[] {
  const [, heading = ""] = HEADING.exec(changelog) ?? [];
  const [, named, date = ""] = DATED.exec(heading) ?? [];
  const expected = `## ${version}, YYYY-MM-DD`;
  if (named !== version) {
    return [`CHANGELOG.md: begins with "## ${heading}", expected "${expected}"`];
  }
  return isDate(date) ? [] : [`CHANGELOG.md: ${date} is no date, expected "${expected}"`];
}

function isDate(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}
