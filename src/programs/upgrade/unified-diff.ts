/**
 * The change of a text as the lines that differ, in the form that `diff -U0` has and `patch` takes.
 * Only for changes that leave the number of lines as it was.
 */

/** The lines, with a head that names the file. */
export function unifiedDiff(file: string, before: string, after: string): readonly string[] {
  const newer = after.split("\n");
  const hunks = before.split("\n").flatMap((line, index) => {
    const changed = newer[index] ?? "";
    if (line === changed) return [];
    return [`@@ -${index + 1} +${index + 1} @@`, `-${line}`, `+${changed}`];
  });
  return [`--- ${file}`, `+++ ${file}`, ...hunks.map((line) => line.replace(/\r$/, ""))];
}
