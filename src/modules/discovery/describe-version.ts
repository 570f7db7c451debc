/** Versions as `version_min` compares them: up to three numbers, and a pre-release before them. */

const VERSION =
  /^(?:AGTP\/|v)?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(-[0-9A-Za-z.-]{1,64})?(?:\+[0-9A-Za-z.-]{1,64})?$/;

/** Tells whether a text can be compared. */
export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/** Tells whether a version is as new as another one; a text that is none is as old as can be. */
export function isAtLeast(version: string, minimum: string): boolean {
  const own = readVersion(version);
  const least = readVersion(minimum);
  for (const [index, part] of own.entries()) {
    const other = least[index] ?? 0;
    if (part !== other) return part > other;
  }
  return true;
}

/** Major, minor, patch, and 0 for a pre-release or 1 for a release. */
function readVersion(text: string): readonly number[] {
  const match = VERSION.exec(text);
  if (match === null) return [0, 0, 0, 0];
  const [, major = "0", minor = "0", patch = "0", preRelease] = match;
  return [Number(major), Number(minor), Number(patch), preRelease === undefined ? 1 : 0];
}
