/** docs/doctor.md has the checks that there are, in their order. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CHECKS } from "../../../src/programs/doctor/command.ts";
import { ROOT } from "../../support/source-tree.ts";

const docs = readFileSync(join(ROOT, "docs/doctor.md"), "utf8");

describe("docs/doctor.md", () => {
  it("lists every check, and no other", () => {
    const listed = [...docs.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, id]) => id);
    expect(listed).toEqual(CHECKS.map(({ id }) => id));
    expect(docs).toContain(`"checks": ${CHECKS.length}`);
  });
});
