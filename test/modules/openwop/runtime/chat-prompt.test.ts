/** The last words of a model, read however they are wrapped. */
import { describe, expect, it } from "vitest";
import { hasLoneSurrogate } from "../../../../src/base/json-value.ts";
import {
  readModelAnswer,
  toolMessage,
} from "../../../../src/modules/openwop/runtime/chat-prompt.ts";
import { cpuMs } from "../../../support/cpu-time.ts";

const resultOf = (content: string): unknown => {
  const read = readModelAnswer(content, undefined);
  return read.kind === "answered" ? read.result : read.kind;
};

describe("the answer of a model", () => {
  it.each([
    '```json\n{"result": 1}\n```',
    '```\n\n{"result": 1}\n\n```',
    '  ```json  \r\n{"result": 1}\r\n```\n',
  ])("is read out of its fence: %j", (content) => {
    expect(resultOf(content)).toBe(1);
  });

  it("is read from a fence that holds no object", () => {
    expect(resultOf("```json\n[1, 2]\n```")).toEqual([1, 2]);
    expect(resultOf("```json\n```")).toBe("```json\n```");
  });

  it("takes no longer than its length where a fence of blank lines has no end", () => {
    const content = `\`\`\`${"\n".repeat(60_000)}x`;
    const startedAt = cpuMs();
    expect(resultOf(content)).toBe(content);
    expect(cpuMs() - startedAt).toBeLessThan(2_000);
  });
});

describe("the outcome of a call", () => {
  it.each([0, 1])("is cut to well-formed text where it is long: %j", (shift) => {
    const outcome = "x".repeat(shift) + "\u{1f600}".repeat(40_000);
    const call = { id: "1", name: "look", arguments: "{}" };
    const { content } = toolMessage(call, { kind: "returned", outcome });
    const [result] = content as readonly { readonly output: { readonly value: string } }[];
    const value = result?.output.value ?? "";
    expect(value.length).toBeGreaterThan(60_000);
    expect(hasLoneSurrogate(value)).toBe(false);
  });
});
