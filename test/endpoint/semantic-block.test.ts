import { expect, it } from "vitest";
import { semanticOf } from "../../src/endpoint/semantic-block.ts";

// AGTP-API §7.1
it.each([
  [["analysis", "mechanics"], "analysis"],
  // A catalog of an operator's own may have categories that are no capability.
  [["compute", "retrieval"], "retrieval"],
  [["compute"], "domain_spanning"],
  [undefined, "domain_spanning"],
])(
  "a block that nobody wrote, of a method in %j, has the capability %s",
  (categories, capability) => {
    expect(semanticOf("Do it.", categories)).toMatchObject({ intent: "Do it.", capability });
  },
);
