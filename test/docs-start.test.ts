/** The first ten minutes, as the page says: its commands are run in order by a shell, with the built programs. */
import { describe, expect, it } from "vitest";
import { makeDirectory } from "./support/directory.ts";
import { runPage } from "./support/doc-page.ts";

describe("docs/start.md", () => {
  it("does what it says", async () => {
    const { outputs, text } = await runPage("docs/start.md", { directory: makeDirectory() });
    expect(text).toContain("the deployment is valid");
    expect(text).toContain('"missing_scopes":["items:reserve"]');
    expect(text).toContain('"reserved":2');
    expect(text).toContain('"code":"too_few"');
    expect(text).toContain("/quantity must be integer");
    expect(text).toContain('"code":"certificate-required"');
    expect(outputs.at(-1)).toMatch(
      /records +4\n[\s\S]*signatures +4 verified, 0 unsigned\nchain +holds/,
    );
    expect(outputs.at(-1)).toContain("stopped");
  }, 120_000);
});
