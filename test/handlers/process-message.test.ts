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

describe("an answer whose id is a text", () => {
  it("is told of as that", () => {
    const line = Buffer.from('{"jsonrpc":"2.0","id":"1","result":{"body":{}}}');
    const reason = "answers by an id that is a text: a call's is a number";
    expect(readProcessLine(line)).toEqual({ kind: "stray", reason });
  });
});

// JSON-RPC 2.0, RFC 8259 §8.1
describe("octets of a process that are not UTF-8", () => {
  const line = (json: string): Buffer => Buffer.from(json, "latin1");

  it("fail the call that they answer, and nothing stands in for them", () => {
    const answer = line('{"jsonrpc":"2.0","id":3,"result":{"body":{"name":"caf\xe9"}}}');
    const fault = { kind: "error", id: 3, message: "the answer is not UTF-8" };
    expect(readProcessLine(answer)).toEqual(fault);
  });

  it("are told of in what a process asks", () => {
    const params = '{"call":1,"method":"QUERY","path":"/","input":{"name":"\xff"}}';
    const request = line(`{"jsonrpc":"2.0","id":"d1","method":"dispatch","params":${params}}`);
    expect(readProcessLine(request)).toEqual({ kind: "stray", reason: "is not UTF-8" });
  });
});

// RFC 8259 §2, §8.1
describe("what stands before the object of a line", () => {
  const log = '{"jsonrpc":"2.0","method":"log","params":{}}';

  it("may be blanks of JSON", () => {
    expect(readProcessLine(Buffer.from(` \t${log}`))).toEqual({ kind: "log", params: {} });
  });

  it("is told of as a byte order mark where it is one, which no log shows", () => {
    const reason = "begins with a byte order mark";
    expect(readProcessLine(Buffer.from(`\ufeff${log}`))).toEqual({ kind: "stray", reason });
  });
});
