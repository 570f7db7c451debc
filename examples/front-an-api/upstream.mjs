/** The HTTPS API of a shop, as it might have been there for years. It knows nothing of AGTP. */
import { once } from "node:events";
import { createServer } from "node:https";

const ITEMS = { tea: { sku: "tea", priceCents: 450, unitsLeft: 120 } };

export async function start({ cert, key }) {
  const server = createServer({ cert, key }, ({ url, headers }, response) => {
    const isKnown = headers.authorization === "Bearer the-shops-key";
    const item = ITEMS[/^\/v1\/items\/(\w+)$/.exec(url)?.[1]];
    const status = isKnown ? (item ? 200 : 404) : 401;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(item ?? { message: "no such item" }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { SHOP_API: `https://localhost:${server.address().port}/v1`, SHOP_KEY: "the-shops-key" };
}
