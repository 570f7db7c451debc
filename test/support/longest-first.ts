/** The order of test files: a long one that begins last would have the others' processors stand still. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest for their size, half a minute and more. */
const LONGEST: readonly string[] = [
  "console/long-chain",
  "app/nodes-work",
  "/docs-guides",
  "tools/torture/",
  "tools/torture.",
  "/docs-start",
  "/examples.",
  "app/modules",
  "console/",
  "app/mcp-",
  "app/nodes",
  "app/workers/",
  "test/tools/",
  "programs/mcp/",
  "killed",
];

/** The longest, then the larger ones. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONGEST.findIndex((part) => moduleId.includes(part));
  return rank === -1 ? LONGEST.length : rank;
}
