import { describe, expect, it } from "vitest";
import { noteSource, sharedEncoding } from "../../src/base/kept-text.ts";
import { readProcessLine, resultLine } from "../../src/handlers/processes/process-message.ts";

// RFC 8259 §6
describe("the numbers of a process", () => {
  it("are those that an endpoint has answered with, to the digit", () => {
    const json = '{"id":9007199254740993}';
    expect(resultLine("d1", 200, noteSource(JSON.parse(json), json))).toBe(
      `{"jsonrpc":"2.0","id":"d1","result":{"status":200,"body":${json}}}\n`,
    );
    expect(resultLine(7, 204, undefined)).toBe(
      '{"jsonrpc":"2.0","id":7,"result":{"status":204,"body":null}}\n',
    );
  });

  it("are those that it answers with, whatever stands beside the body", () => {
    const line = `{"result": {"message":"9007199254740993","body": [9007199254740993, "x"]}, "jsonrpc":"2.0","id":1}`;
    const message = readProcessLine(Buffer.from(line));
    const { body } = (message as { readonly result: { readonly body: object } }).result;
    expect(sharedEncoding(body)).toBe('[9007199254740993,"x"]');
  });
});
