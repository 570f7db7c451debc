import { describe, expect, it } from "vitest";
import {
  makeProposal,
  makeStep,
  makeSynthesizer,
  type ProposalWords,
} from "../../../support/synthesis.ts";

const ENDPOINTS = [
  makeStep("BOOK /room", { takes: ["guest_id"], gives: ["reservation_id"], impact: "reversible" }),
  makeStep("QUERY /rooms/{room_id}", { takes: ["room_id"], gives: ["price", "beds"] }),
  makeStep("QUERY /orders/{order_id}", {
    ...{ takes: ["order_id"], gives: ["order_status"] },
    description: "Tells how far the kitchen is.",
  }),
  makeStep("QUERY /weather", {
    ...{ gives: ["forecast"], description: "Tells tomorrow's sky." },
    semantic: { ...makeStep("QUERY /weather").semantic, capability: "analysis" },
  }),
];
const synthesizer = makeSynthesizer(ENDPOINTS);
const pairOf = (endpoint: { method: string; path: string } | undefined) =>
  endpoint && `${endpoint.method} ${endpoint.path}`;
const similarTo = (words: ProposalWords, limit = 10) =>
  synthesizer.similar(makeProposal(words), limit).map(pairOf);
const closestTo = (words: ProposalWords) =>
  pairOf(synthesizer.counterProposal(makeProposal(words)));

// AGTP-API §10.3
describe("similar endpoints", () => {
  it("share words of the path, in singular or plural, before they share a method", () => {
    expect(similarTo({ method: "QUERY", path: "/room-prices" })[0]).toBe("QUERY /rooms/{room_id}");
    expect(similarTo({ method: "BOOK", path: "/rooms" })[0]).toBe("BOOK /room");
  });

  it("share words of the description", () => {
    const [first] = similarTo({ path: "/meals", description: "How far is the kitchen?" });
    expect(first).toBe("QUERY /orders/{order_id}");
  });

  it("share a capability, where they share nothing else", () => {
    const words = { path: "/unheard-of", description: "" };
    expect(similarTo(words)).not.toContain("QUERY /weather");
    expect(similarTo(words)).toContain("BOOK /room");
  });

  it("are as many as asked for, and the same in any order of registration", () => {
    const words = { method: "QUERY", path: "/room", asks: ["price"] };
    expect(similarTo(words, 2)).toHaveLength(2);
    expect(similarTo(words, 0)).toEqual([]);
    const reversed = makeSynthesizer(ENDPOINTS.toReversed());
    expect(reversed.similar(makeProposal(words), 3).map(pairOf)).toEqual(similarTo(words, 3));
  });
});

describe("a counter-proposal", () => {
  it.each<[string, ProposalWords, string]>([
    ["shares the path", { method: "BOOK", path: "/rooms", offers: ["x"] }, "BOOK /room"],
    ["gives what is asked", { path: "/x", asks: ["order_status"] }, "QUERY /orders/{order_id}"],
    [
      "gives more of what is asked",
      { path: "/x", asks: ["price", "beds", "forecast"] },
      "QUERY /rooms/{room_id}",
    ],
  ])("%s", (_title, words, pair) => {
    expect(closestTo(words)).toBe(pair);
  });

  it("is not made where only a method, an input or a word is shared", () => {
    const words = { method: "QUERY", path: "/tides", offers: ["room_id"], asks: ["tide"] };
    expect(closestTo({ ...words, description: "Answers a room." })).toBeUndefined();
  });

  it("survives names that objects inherit", () => {
    const words = { path: "/constructor/__proto__", asks: ["__proto__", "constructor"] };
    expect(closestTo(words)).toBeUndefined();
  });
});
