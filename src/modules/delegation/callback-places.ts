/** The places of a deployment that outcomes of delegated tasks can go to.   AGTP "DELEGATE" */
import { canonicalPair } from "../../dispatch/pairs.ts";
import { buildRegistry } from "../../endpoint/endpoint-registry.ts";
import type { CallbackPlaces } from "./callback.ts";
import type { DelegationContext } from "./config.ts";

/** The operator's endpoints, and inboxes as long as NOTIFY is the protocol's. */
export async function callbackPlaces({
  routes,
  methodPolicy,
  drive,
}: DelegationContext): Promise<CallbackPlaces> {
  const operators = routes.filter(({ tier }) => tier === "B");
  const { registry } = await drive(buildRegistry(operators));
  const isEndpoint = (method: string, path: string): boolean =>
    registry.find(method, path.split("?", 1)[0] ?? "") !== undefined;
  const { method, path } = canonicalPair(methodPolicy, { method: "NOTIFY", path: "/" });
  const isOurs = method === "NOTIFY" && path === "/" && !isEndpoint(method, path);
  return { hasInboxes: isOurs, isEndpoint };
}
