/** Marks that somebody, or a program, left for a person to judge: comments that begin with REVIEW. */
import { parseTOML } from "toml-eslint-parser";
import { readDeploymentFiles } from "../../../base/deployment-files.ts";
import type { Check, Observation } from "../finding.ts";
import type { Subject } from "../subject.ts";

interface Mark {
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

/** The check `review-marks`. */
export const reviewMarks: Check = {
  id: "review-marks",
  asks: "has somebody judged what was only guessed?",
  look: (subject) => [
    ...lookInto(subject, subject.config.endpoints.dir, "endpoints", true),
    ...lookInto(subject, subject.config.recipes.dir, "recipes", false),
  ],
};

function lookInto(
  { config }: Subject,
  dir: string,
  defaultDir: string,
  recursive: boolean,
): readonly Observation[] {
  const place = { directory: config.directory, dir, defaultDir, suffix: ".toml", recursive };
  return readDeploymentFiles(place).files.flatMap(({ file, text }) => {
    const marks = findMarks(text);
    const [first] = marks;
    if (first === undefined) return [];
    const count = marks.length === 1 ? "a mark" : `${marks.length} marks`;
    const message = `has ${count} for review, the first on line ${first.line}: ${first.text}`;
    const remedy = "judge what is marked, correct it, and delete the comment";
    return [{ severity: "warning", file, key: "", message, remedy }];
  });
}

/** In comments alone: a description may speak of reviews as it likes. */
function findMarks(text: string): readonly Mark[] {
  if (!/#\s*REVIEW\s*:/i.test(text)) return [];
  try {
    const { comments } = parseTOML(text, { tomlVersion: "1.1" });
    return comments.flatMap(({ value, loc }) => readMark(value, loc.start.line) ?? []);
  } catch {
    // What is no TOML is not served, and may be marked all the same.
    return text
      .split("\n")
      .flatMap((line, index) => readMark(/^\s*#(.*)/.exec(line)?.[1] ?? "", index + 1) ?? []);
  }
}

function readMark(comment: string, line: number): Mark | undefined {
  const said = /^\s*REVIEW\s*:\s*(.*)$/i.exec(comment)?.[1]?.trim();
  return said === undefined ? undefined : { line, text: JSON.stringify(said.slice(0, 120)) };
}
