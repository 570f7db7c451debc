import { describe, expect, it } from "vitest";
import { askOnce, openDaemon } from "../support/daemon.ts";
import { bus, call, echo, heard, serverFiles } from "../support/server-deployment.ts";

const FAULTS = [
  ["invalid-request-line", "HELO\r\n\r\n"],
  ["request-line-too-long", `AGTP/1.0 QUERY /${"x".repeat(9_000)}\r\n\r\n`],
  ["header-too-large", `AGTP/1.0 QUERY /\r\nX: ${"x".repeat(70_000)}\r\n\r\n`],
  ["invalid-framing", "AGTP/1.0 QUERY /\r\nContent-Length: -1\r\n\r\n"],
  ["body-too-large", "AGTP/1.0 QUERY /\r\nContent-Length: 99999999\r\n\r\n"],
] as const;

// AGTP-API §5.1
describe("a path that begins with two slashes", () => {
  it.each(["//", "//echoes", "///", "//?a=b", "//localhost/echoes"])(
    "is read as it is and answered with 460: %s",
    async (target) => {
      const { connect } = await openDaemon(serverFiles());
      const reply = await askOnce({ connect }, `AGTP/1.0 QUERY ${target}\r\n\r\n`);
      expect([reply?.status, reply?.body["segment"]]).toEqual([460, "/"]);
    },
  );
});

// AGTP "Wire Format"
describe("bytes that cannot be framed", () => {
  it.each(FAULTS)("are answered with 400 %s, then the connection closes", async (code, bytes) => {
    const { connect } = await openDaemon(serverFiles());
    const client = await connect();
    client.write(bytes);
    const replies = await client.closed();
    expect(replies.map(({ status, body }) => [status, body["error"]?.["code"]])).toEqual([
      [400, code],
    ]);
  });

  it("end the requests that follow, and not those before", async () => {
    const { connect, log } = await openDaemon(serverFiles());
    const client = await connect();
    const started = heard("started", "slow");
    const gate = call("EXECUTE", "/gates", { id: "slow" });
    client.write(Buffer.concat([echo(1), gate, echo(2), Buffer.from("oops\r\n"), echo(3)]));
    await started;
    client.write(echo(4));
    bus.emit("release slow");
    const replies = await client.closed();
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 400]);
    expect(log.filter(({ path }) => path === "/echoes")).toHaveLength(2);
  });

  it("are answered where there is room for one request only", async () => {
    const { connect } = await openDaemon(serverFiles({ limits: { max_pipelined: 1 } }));
    const client = await connect();
    const started = heard("started", "only");
    client.write(Buffer.concat([call("EXECUTE", "/gates", { id: "only" }), Buffer.from("oops\n")]));
    await started;
    client.write("more of it".repeat(100_000));
    bus.emit("release only");
    const replies = await client.closed();
    expect(replies.map(({ status }) => status)).toEqual([200, 400]);
  });

  it("are answered even to a peer that goes on sending", async () => {
    const { connect } = await openDaemon(serverFiles());
    const client = await connect();
    const size = 10 * 1024 * 1024;
    client.write(`AGTP/1.0 QUERY /echoes\r\nContent-Length: ${size}\r\n\r\n`);
    client.write(Buffer.alloc(size, "x"));
    const [reply] = await client.replies(1);
    expect(reply?.body["error"]?.["code"]).toBe("body-too-large");
    await client.closed();
  });

  it("do not cost a slow reader the replies before them", async () => {
    const { connect } = await openDaemon(serverFiles());
    const client = await connect();
    client.socket.pause();
    const blob = call("QUERY", "/blobs", { size: 1_000_000 });
    client.write(Buffer.concat([blob, blob, blob, blob, blob, Buffer.from("oops\r\n")]));
    const other = await connect();
    other.write("oops\r\n");
    await other.closed();
    client.socket.resume();
    const replies = await client.closed();
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 400]);
  });
});
