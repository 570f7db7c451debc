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
];

/**
 * The files that start many processes come before those that fill the memory: each start copies the page
 * tables of its parent, 30 ms for a gigabyte and half a millisecond for a process that is new.
 */
const STARTING: readonly string[] = [
  "test/tools/",
  "programs/mcp/",
  "killed",
  "agentcli/scheduler",
  "client-certificate-verification",
  "handlers/mcp/",
  "app/workers/",
  "app/mcp-",
  "app/nodes",
  "app/processes",
  "app/attribution",
];

const ORDER: readonly string[] = [...LONGEST, ...STARTING, "console/"];

/** Those, then the larger ones. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = ORDER.findIndex((part) => moduleId.includes(part));
  return rank === -1 ? ORDER.length : rank;
}
