/**
 * A worker that is replaced reads the files of the deployment as they are then: what has changed since all
 * workers had taken them in is told, and served by all after a reload.
 */
import type { Problem } from "../../base/problem.ts";
import { changedFiles, type FileMarks } from "../file-marks.ts";

/** More are only counted. */
const MAX_NAMED = 5;

/** The warnings about files that one worker has read as the others have not. */
export function changesOf(node: string, before: FileMarks, now: FileMarks): readonly Problem[] {
  const names = changedFiles(before, now);
  const more = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).map((file, index): Problem => {
    const others = index === MAX_NAMED - 1 && more > 0 ? `, and so have ${more} more files` : "";
    return {
      ...{ file, key: "", severity: "warning" },
      message: `has changed since the last reload${others}: ${node}, which is replaced, serves it, and the others do not`,
      hint: "agtpd reload has all of them serve what the files say",
    };
  });
}
