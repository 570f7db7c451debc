import { once } from "node:events";
import { connect } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeCertificate } from "../support/certificate.ts";
import { openDaemon } from "../support/daemon.ts";
import { gatewayFiles } from "../support/gateway.ts";

describe("a client of the HTTP sidecar with TLS 1.2", () => {
  it("is not let have one handshake after the other", async () => {
    const { cert, key } = await makeCertificate();
    const gateway = {
      enabled: true,
      port: 0,
      agent: "desk",
      cert: "http.pem",
      key: "http-key.pem",
    };
    const files = gatewayFiles({ gateway }, { "http.pem": cert, "http-key.pem": key });
    const { daemon } = await openDaemon(files);
    const port = daemon.gatewayPort ?? 0;
    const options = { port, host: "127.0.0.1", rejectUnauthorized: false };
    const socket = connect({ ...options, maxVersion: "TLSv1.2" });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => undefined);
    await once(socket, "secureConnect");
    expect(socket.getProtocol()).toBe("TLSv1.2");
    const outcome = await new Promise((resolve) => {
      socket.once("close", () => resolve("refused"));
      socket.renegotiate({ rejectUnauthorized: false }, (error) =>
        resolve(error === null ? "renegotiated" : "refused"),
      );
    });
    expect(outcome).toBe("refused");
  });
});
