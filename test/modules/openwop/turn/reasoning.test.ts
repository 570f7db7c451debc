/** Reasoning that arrives in very many pieces, or in halves of characters. */
import { describe, expect, it } from "vitest";
import { hasLoneSurrogate } from "../../../../src/base/json-value.ts";
import type { Redactor } from "../../../../src/base/redaction.ts";
import type { AgentEvent } from "../../../../src/modules/openwop/agent-executor.ts";
import {
  type ReasoningRules,
  ReasoningWriter,
} from "../../../../src/modules/openwop/turn/reasoning.ts";
import { cpuMs } from "../../../support/cpu-time.ts";
import { redactorOf } from "../../../support/openwop.ts";

const RULES: ReasoningRules = { verbosity: "full", tokenLimit: 512, streaming: true };

/** Finds no secrets, which takes time of its own. */
const SEES_NOTHING: Redactor = {
  text: (text) => text,
  value: (value) => value,
  spans: () => [],
  settledLength: ({ length }) => length,
};

/** Says the pieces of one block, and answers with its text and that of its deltas. */
async function sayAll(pieces: Iterable<string>, redactor: Redactor = redactorOf()) {
  const events: AgentEvent[] = [];
  const writer = new ReasoningWriter("an.agent", RULES, redactor, (event) => {
    events.push(event);
    return Promise.resolve("");
  });
  for (const piece of pieces) await writer.add(piece);
  await writer.end();
  const block = events.find(({ type }) => type === "agent.reasoned")?.payload["reasoning"];
  const deltas = events.filter(({ type }) => type === "agent.reasoning.delta");
  return { block, deltas: deltas.map(({ payload }) => String(payload["delta"])) };
}

describe("a block of reasoning", () => {
  it("takes no longer than its length, in however many pieces it comes", async () => {
    const pieces = Array.from({ length: 80_000 }, () => "a ");
    const startedAt = cpuMs();
    const { block, deltas } = await sayAll(pieces, SEES_NOTHING);
    expect(block).toBe(pieces.join(""));
    expect(deltas.join("")).toBe(block);
    expect(deltas.length).toBeLessThan(1000);
    expect(cpuMs() - startedAt).toBeLessThan(5_000);
  });

  it("is told in whole characters", async () => {
    const text = `${"😀".repeat(400)}!`;
    const { block, deltas } = await sayAll([text]);
    expect(block).toBe(text);
    expect(deltas.join("")).toBe(text);
    for (const delta of deltas) expect(hasLoneSurrogate(delta)).toBe(false);
  });
});
