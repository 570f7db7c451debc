/**
 * The obvious alternative: fastify over https, with the same body and schema. Run as a separate
 * process: `fastify-app.js CERT KEY`.
 */
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { fastify } from "fastify";
import { ORDER_RESULT, ORDER_SCHEMA } from "./order.ts";

const [cert = "", key = ""] = process.argv.slice(2);
const app = fastify({
  https: { cert: readFileSync(cert), key: readFileSync(key), minVersion: "TLSv1.3" },
});
app.post("/orders", { schema: { body: ORDER_SCHEMA } }, async () => ORDER_RESULT);
await app.listen({ host: "127.0.0.1", port: 0 });
const { port } = app.server.address() as AddressInfo;
console.log(JSON.stringify({ event: "listening", port }));
process.on("SIGTERM", () => process.exit(0));
