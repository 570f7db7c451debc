import { describe, expect, it } from "vitest";
import { fieldsOf, readParent } from "../../../src/modules/tracing/traced-route.ts";

const TRACE = "12345678901234567890123456789012";
const PARENT = `00-${TRACE}-1234567890123456-01`;

function stateOf(tracestate: string): string | undefined {
  const parent = readParent((name) => (name === "traceparent" ? PARENT : tracestate));
  if (parent === undefined) throw new Error("the parent was not read");
  return fieldsOf(parent).tracestate;
}

function members(count: number): string {
  return Array.from({ length: count }, (_, at) => `bar${at}=${at}`).join(",");
}

// W3C Trace Context Level 2 §3.2.2.5
describe("traceparent", () => {
  it.each([
    ["00", "00"],
    ["01", "01"],
    ["02", "02"],
    ["03", "03"],
    ["ff", "03"],
    ["fc", "00"],
  ])("goes on with the flags that have a meaning: %s as %s", (flags, want) => {
    const parent = readParent((name) =>
      name === "traceparent" ? `${PARENT.slice(0, -2)}${flags}` : undefined,
    );
    if (parent === undefined) throw new Error("the parent was not read");
    expect(fieldsOf(parent).traceparent).toBe(`${PARENT.slice(0, -2)}${want}`);
  });
});

// W3C Trace Context §3.3.1
describe("tracestate", () => {
  it.each([
    ["foo=1,bar=2"],
    ["foo@=1,bar=2"],
    ["foo@@bar=1,foo@bar@baz=2"],
    ["0@-_*/=!~ ~"],
    [`${"z".repeat(256)}=1`],
    [members(32)],
  ])("goes on as it is: %.60s", (text) => {
    expect(stateOf(text)).toBe(text);
  });

  it.each([["foo=1 \t,\tbar=2, ,", "foo=1,bar=2"]])(
    "goes on without its blanks: %j",
    (text, want) => {
      expect(stateOf(text)).toBe(want);
    },
  );

  it.each([
    [""],
    [" , "],
    ["foo=1,@foo=1"],
    ["foo=1,Foo=1"],
    ["foo=1,foo =1"],
    ["bar=3,foo="],
    ["bar=3,foo=bar=baz"],
    ["bar=3,foo"],
    [`foo=1,${"z".repeat(257)}=1`],
    [`foo=${"v".repeat(257)}`],
    [members(33)],
    [`foo=\u007f`],
  ])("is discarded as a whole: %.60j", (text) => {
    expect(stateOf(text)).toBeUndefined();
  });
});
