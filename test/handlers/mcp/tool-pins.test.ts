/** The pins that operators accept, on several nodes of one store. */
import { describe, expect, it } from "vitest";
import { definitionDifferences, readTool, ToolPins } from "../../../src/handlers/mcp/tool-pins.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import { alterStore } from "../../support/store.ts";

const TOOL = { server: "files", tool: "read", definition: "sha256:file" };

describe("an accepted pin", () => {
  it("is the one of the latest word, also where an earlier word is kept later", async () => {
    const store = createMemoryStore();
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const commit: typeof store.commit = async (...asked) => {
      await held;
      return store.commit(...asked);
    };
    const late = await ToolPins.open(store);
    const slow = await ToolPins.open(alterStore(store, { commit }));
    const earlier = slow.accept(TOOL, "sha256:earlier", 10);
    await late.accept(TOOL, "sha256:later", 11);
    goOn();
    await earlier;
    expect((await ToolPins.open(store)).pinOf(TOOL)).toBe("sha256:later");
    expect(slow.pinOf(TOOL)).toBe("sha256:later");
    await slow.accept(TOOL, "sha256:latest", 12);
    expect(slow.pinOf(TOOL)).toBe("sha256:latest");
    expect(slow.pinOf({ ...TOOL, definition: "sha256:other" })).toBe("sha256:other");
  });
});

describe("a definition", () => {
  it("that has no canonical form, and so no pin, is none of a tool", () => {
    const tool = { name: "read", inputSchema: { type: "object" } };
    expect(readTool(tool)?.definition).toEqual(tool);
    expect(readTool({ ...tool, description: "\ud800" })).toBeUndefined();
    expect(readTool({ ...tool, inputSchema: { default: "\udc00" } })).toBeUndefined();
  });
});

describe("the differences of two definitions", () => {
  it("take no more work where they are deep down", () => {
    const levelled = (levels: number, said: string): object => {
      let value: object = { list: Array.from({ length: 20_000 }, () => 1), said };
      for (let level = 0; level < levels; level += 1) value = { inner: value };
      return { name: "read", inputSchema: value };
    };
    const costOf = (levels: number): number => {
      const [before, after] = [
        readTool(levelled(levels, "one")),
        readTool(levelled(levels, "two")),
      ];
      if (before === undefined || after === undefined) throw new Error("they are tools");
      const from = cpuMs();
      const differences = definitionDifferences(before.definition, after.definition);
      expect(differences.map(({ path }) => path)).toEqual([
        `/inputSchema${"/inner".repeat(levels)}/said`,
      ]);
      return cpuMs() - from;
    };
    costOf(1);
    const shallow = Math.max(2, costOf(1));
    // Compared whole at each level, they took as many times as long as there are levels.
    expect(costOf(50)).toBeLessThan(7 * shallow);
  });
});
