/**
 * The sockets that a configuration opens, and which of them others than this machine's users reach.
 * Every rule that means "loopback only" asks here, so that a listener that is added to the table is
 * under all of them.   AGTP "Security Considerations"
 */

import { isLoopbackHost } from "../../base/addresses.ts";
import type { Config } from "./config.ts";

/** The listeners, each with all that stands behind it. */
const REACHES = ["anything", "calls", "claims"] as const;

/**
 * `anything`: the listener itself · `calls`: requests to endpoints and floor methods · `claims`:
 * an Agent-ID that a header claims, which only AGTP's own listener ever takes.
 */
type Reach = (typeof REACHES)[number];

/** A socket that the configuration opens. */
interface Listener {
  /** The section of the configuration. */
  readonly key: "server" | "gateway" | "metrics" | "console";
  readonly host: string;
  readonly reach: Reach;
}

type Sockets = Pick<Config, Listener["key"]>;

/** The sections that say where is listened, for rules that look at all of them. */
export const LISTENER_SECTIONS: readonly (keyof Sockets)[] = [
  "server",
  "gateway",
  "metrics",
  "console",
];

/** Lists the listeners beyond loopback that let at least so much in. */
export function exposedListeners(config: Sockets, reach: Reach): readonly Listener[] {
  return listenersOf(config).filter(
    (listener) =>
      REACHES.indexOf(listener.reach) >= REACHES.indexOf(reach) && !isLoopbackHost(listener.host),
  );
}

/** The first of them: what a message names. */
export function exposedListener(config: Sockets, reach: Reach): Listener | undefined {
  return exposedListeners(config, reach)[0];
}

/** As messages name a listener: `host "0.0.0.0"`, `gateway.host "0.0.0.0"`. */
export function describeListener({ key, host }: Listener): string {
  return `${key === "server" ? "" : `${key}.`}host ${JSON.stringify(host)}`;
}

function listenersOf({ server, gateway, metrics, console }: Sockets): readonly Listener[] {
  return [
    { key: "server", host: server.host, reach: "claims" },
    // Identity headers of HTTP are never believed: the sidecar speaks as its own agent.
    ...(gateway.enabled ? [{ key: "gateway", host: gateway.host, reach: "calls" } as const] : []),
    ...(metrics.enabled
      ? [{ key: "metrics", host: metrics.host, reach: "anything" } as const]
      : []),
    ...(console.enabled
      ? [{ key: "console", host: console.host, reach: "anything" } as const]
      : []),
  ];
}
