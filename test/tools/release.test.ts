/** A release is refused where something is missing, each with its remedy. */
import { describe, expect, it } from "vitest";
import { findReleaseFaults, type ReleaseState } from "../../tools/package/release-checks.ts";

const READY: ReleaseState = {
  version: "1.2.3",
  repository: "git+https://code.example/agtpd.git",
  changelog: "# Changelog\n\n## 1.2.3, 2030-01-31\n\n- More.\n\n## 1.2.2, 2029-12-01\n",
  changes: [],
  tags: ["v1.2.2"],
};

describe("a release", () => {
  it("goes on where everything is ready", () => {
    expect(findReleaseFaults(READY)).toEqual([]);
  });

  it.each<[string, Partial<ReleaseState>, RegExp]>([
    ["changes that are not committed", { changes: [" M README.md"] }, /README\.md.*commit/],
    ["a version that is none", { version: "next" }, /version.*1\.2\.3/],
    ["no repository", { repository: undefined }, /repository\.url/],
    ["a tag that is there", { tags: ["v1.2.3"] }, /raise the version/],
    ["changes of no version", { changelog: "## Unreleased\n" }, /## 1\.2\.3, YYYY-MM-DD/],
    ["changes without a date", { changelog: "## 1.2.3\n" }, /YYYY-MM-DD/],
    ["no list of changes", { changelog: "" }, /CHANGELOG\.md/],
    ["a month that is none", { changelog: "## 1.2.3, 2030-13-01\n" }, /no date/],
    ["a day that is none", { changelog: "## 1.2.3, 2030-02-30\n" }, /no date/],
  ])("is refused with %s", (_, change, remedy) => {
    const faults = findReleaseFaults({ ...READY, ...change }).join("\n");
    expect(faults).toMatch(remedy);
  });
});
