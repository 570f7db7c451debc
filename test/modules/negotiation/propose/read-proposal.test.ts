import { describe, expect, it } from "vitest";
import { unwrapEnvelope } from "../../../../src/endpoint/input.ts";
import {
  type RawProposal,
  readProposal,
} from "../../../../src/modules/negotiation/propose/read-proposal.ts";

const SEMANTIC = { intent: "Book." };
const INPUT = { type: "object", properties: { guest: { type: "string" } } };

/** As the gates would hand it over. */
function read(body: Readonly<Record<string, unknown>>): ReturnType<typeof readProposal> {
  return readProposal(unwrapEnvelope(body, "PROPOSE").parameters);
}

function proposalOf(body: Readonly<Record<string, unknown>>): RawProposal {
  const reading = read(body);
  if ("reason" in reading) throw new Error(reading.message);
  return reading;
}

// AGTP-API §10.4
describe("the forms of a proposal", () => {
  const endpoint = { method: "BOOK", path: "/suite", semantic: SEMANTIC, input_schema: INPUT };
  const wanted = { method: "BOOK", path: "/suite", semantic: SEMANTIC, inputSchema: INPUT };

  it.each([
    ["wrapped, in an envelope", { method: "PROPOSE", task_id: "t", parameters: { endpoint } }],
    ["wrapped, plain", { endpoint }],
    ["wrapped, plain, beside the method", { method: "PROPOSE", endpoint }],
    ["as a proposal", { proposal: endpoint, session_id: "s" }],
    ["with a name", { method: "PROPOSE", parameters: { name: "book-suite", ...endpoint } }],
    ["with a name, plain", { name: "book-suite", ...endpoint }],
  ])("are read %s", (_, body) => {
    expect(proposalOf(body)).toMatchObject(wanted);
  });

  it("take a name that is a method for the method, and its parameters for inputs", () => {
    const proposal = proposalOf({ name: "RECONCILE", parameters: { ledger: "string", deep: {} } });
    expect(proposal).toMatchObject({
      method: "RECONCILE",
      path: "/",
      inputSchema: { properties: { ledger: { type: "string" }, deep: {} } },
      semantic: { impact: "informational" },
    });
  });

  it("read a name that is a method although the body names its own", () => {
    const body = { method: "PROPOSE", name: "RECONCILE", path: "/books", parameters: {} };
    expect(proposalOf(body)).toMatchObject({ method: "RECONCILE", path: "/books" });
  });

  it("read the core table's members", () => {
    const proposal = proposalOf({
      proposed_method: "AUDIT",
      intent: "Audit a ledger.",
      signature: { input_schema: INPUT, output_schema: { type: "object" } },
    });
    expect(proposal).toMatchObject({
      method: "AUDIT",
      path: "/",
      description: "Audit a ledger.",
      inputSchema: INPUT,
      outputSchema: { type: "object" },
      semantic: { intent: "Audit a ledger." },
    });
  });

  it("may ask to be kept, and for how long", () => {
    const proposal = proposalOf({ endpoint, persistent: true, requested_duration: "7d" });
    expect(proposal).toMatchObject({ isPersistent: true, requestedSeconds: 604_800 });
    expect(proposalOf({ endpoint })).toMatchObject({ isPersistent: false });
  });
});

describe("what is no proposal", () => {
  const endpoint = { method: "BOOK", path: "/suite" };

  it.each([
    [{ endpoint, name: "book" }, "ambiguous-body"],
    [{ parameters: { endpoint, name: "book" } }, "ambiguous-body"],
    [{}, "missing-required-field"],
    [{ endpoint: { path: "/suite" } }, "missing-required-field"],
    [{ name: "book-suite" }, "missing-required-field"],
    [{ endpoint: "BOOK /suite" }, "invalid-field"],
  ])("%j is %s", (body, reason) => {
    expect(read(body)).toMatchObject({ reason });
  });

  it.each([
    [{ endpoint: { method: "BOOK" } }, "path"],
    [{ endpoint: { method: "BOOK", path: 5 } }, "path"],
    [{ endpoint: { method: "BOOK", path: `/${"x".repeat(2048)}` } }, "path"],
    [{ endpoint: { ...endpoint, description: 5 } }, "description"],
    [{ endpoint: { ...endpoint, description: "x".repeat(1025) } }, "description"],
    [{ endpoint: { ...endpoint, required_scopes: "a:b" } }, "required_scopes"],
    [{ endpoint: { ...endpoint, required_scopes: ["a"] } }, "required_scopes"],
    [{ endpoint: { ...endpoint, required_scopes: Array(65).fill("a:b") } }, "required_scopes"],
    [{ endpoint, persistent: "yes" }, "persistent"],
    [{ endpoint, requested_duration: "soon" }, "requested_duration"],
  ])("is told what is wrong once its method has been judged: %#", (body, field) => {
    expect(proposalOf(body)).toMatchObject({ method: "BOOK", fault: { field } });
  });

  it("has a method of a bounded length", () => {
    const { method } = proposalOf({ endpoint: { method: "B".repeat(1_000_000), path: "/" } });
    expect(method.length).toBeLessThan(100);
  });

  it("takes the values of its path where it does not say what it takes", () => {
    const { inputSchema } = proposalOf({
      endpoint: { method: "BOOK", path: "/suites/{suite_id}" },
    });
    expect(inputSchema).toMatchObject({
      properties: { suite_id: { type: "string" } },
      required: ["suite_id"],
    });
  });
});
