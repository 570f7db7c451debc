/**
 * The sockets that a configuration opens, and which of them are reachable from other machines.
 * Every "loopback only" rule uses this table, so that a new listener is subject to all of them.
 * AGTP "Security Considerations"
 */

import { isLoopbackHost } from "../../base/addresses.ts";
import { type Config, type CrossCheck, rule } from "./config.ts";

/** The reach of a listener, in increasing order; each includes the ones before. */
const REACHES = ["anything", "calls", "claims"] as const;

/**
 * `anything`: the listener itself · `calls`: requests to endpoints and floor methods · `claims`: an
 * Agent-ID in a header, which only AGTP's own listener accepts.
 */
type Reach = (typeof REACHES)[number];

interface Listener {
  readonly key: "server" | "gateway" | "metrics" | "console";
  readonly host: string;
  readonly port: number;
  readonly reach: Reach;
}

type Sockets = Pick<Config, Listener["key"]>;

/** The sections with listeners, for rules that cover all of them. */
export const LISTENER_SECTIONS: readonly (keyof Sockets)[] = [
  "server",
  "gateway",
  "metrics",
  "console",
];

/** Lists the listeners beyond loopback with at least this reach. */
export function exposedListeners(config: Sockets, reach: Reach): readonly Listener[] {
  return listenersOf(config).filter(
    (listener) =>
      REACHES.indexOf(listener.reach) >= REACHES.indexOf(reach) && !isLoopbackHost(listener.host),
  );
}

/** Returns the first exposed listener, for messages. */
export function exposedListener(config: Sockets, reach: Reach): Listener | undefined {
  return exposedListeners(config, reach)[0];
}

/** Returns a listener's name for messages: `host "0.0.0.0"`, `gateway.host "0.0.0.0"`. */
export function describeListener({ key, host }: Listener): string {
  return `${key === "server" ? "" : `${key}.`}host ${JSON.stringify(host)}`;
}

function listenersOf({ server, gateway, metrics, console }: Sockets): readonly Listener[] {
  const all: readonly (Listener & { readonly enabled: boolean })[] = [
    { key: "server", ...placeOf(server), reach: "claims", enabled: true },
    // HTTP identity headers are never believed; the sidecar speaks as its own agent.
    { key: "gateway", ...placeOf(gateway), reach: "calls", enabled: gateway.enabled },
    { key: "metrics", ...placeOf(metrics), reach: "anything", enabled: metrics.enabled },
    { key: "console", ...placeOf(console), reach: "anything", enabled: console.enabled },
  ];
  return all.filter(({ enabled }) => enabled);
}

function placeOf({ host, port }: Pick<Listener, "host" | "port">): Pick<Listener, "host" | "port"> {
  return { host, port };
}

const WILDCARDS = ["0.0.0.0", "::"];

/** Tells whether two listeners conflict. Port 0 never does, since the system chooses it. */
function isSamePlace(one: Listener, other: Listener): boolean {
  if (one.port !== other.port || one.port === 0) return false;
  const hosts = [one.host.toLowerCase(), other.host.toLowerCase()];
  if (hosts[0] === hosts[1] || hosts.some((host) => WILDCARDS.includes(host))) return true;
  return hosts.includes("localhost") && hosts.every((host) => isLoopbackHost(host));
}

/** Rules about who can reach the server, and which identities it believes. */
export const exposureChecks: readonly CrossCheck[] = [
  rule(LISTENER_SECTIONS, (config, report) => {
    const listeners = listenersOf(config);
    for (const [index, listener] of listeners.entries()) {
      const before = listeners.slice(0, index).find((other) => isSamePlace(other, listener));
      if (before === undefined) continue;
      report(`${listener.key}.port`, `must be another than ${before.key}.port, ${before.port}`);
    }
  }),
  rule([...LISTENER_SECTIONS, "tls"], (config, report) => {
    const { tls } = config;
    const exposed = exposedListeners(config, "claims").find(({ key }) => key === "server");
    if (tls.cert !== undefined || tls.key !== undefined || exposed === undefined) return;
    report("tls.cert", `is required on ${describeListener(exposed)}`, {
      hint: "a self-made certificate is for loopback hosts only",
    });
  }),
  rule(["tls"], ({ tls }, report) => {
    if (tls.clientAuth === "none" || tls.clientCa !== undefined) return;
    report("tls.client_ca", `is required by client_auth = "${tls.clientAuth}"`, {
      hint: "agtp-keys agent-ca makes one, and agtp-keys agent-cert what agents show",
    });
  }),
  rule([...LISTENER_SECTIONS, "policies"], (config, report) => {
    const { identity } = config.policies;
    if (identity.assurance !== "header" || identity.allowUnverifiedIdentity) return;
    const exposed = exposedListener(config, "claims");
    if (exposed === undefined) return;
    report(
      "policies.identity.assurance",
      `must not be "header" on ${describeListener(exposed)}, where anybody may claim any Agent-ID`,
      { hint: 'use assurance = "certificate", or set allow_unverified_identity = true' },
    );
  }),
  rule(["tls", "policies"], ({ tls, policies }, report) => {
    if (policies.identity.assurance !== "certificate" || tls.clientAuth !== "none") return;
    report("policies.identity.assurance", '"certificate" needs tls.client_auth, got "none"', {
      hint: 'set tls.client_auth = "required" or "optional"',
    });
  }),
  rule([...LISTENER_SECTIONS, "policies"], (config, report) => {
    if (config.policies.identity.lifecycleAuth !== "open") return;
    const exposed = exposedListener(config, "anything");
    if (exposed === undefined) return;
    report(
      "policies.identity.lifecycle_auth",
      `must not be "open" on ${describeListener(exposed)}, where anybody could revoke agents`,
    );
  }),
  rule(LISTENER_SECTIONS, (config, report) => {
    const { gateway } = config;
    if (gateway.cert !== undefined || gateway.allowPlainHttp) return;
    if (!exposedListeners(config, "calls").some(({ key }) => key === "gateway")) return;
    report("gateway.cert", `is required on host "${gateway.host}", which is not loopback`, {
      hint: "behind a proxy with TLS, set gateway.allow_plain_http = true",
    });
  }),
  // Without TLS, sessions of people could be read on the network.
  rule(LISTENER_SECTIONS, (config, report) => {
    const { cert, host } = config.console;
    if (cert !== undefined) return;
    if (!exposedListeners(config, "anything").some(({ key }) => key === "console")) return;
    report("console.cert", `is required on host "${host}", which is not loopback`);
  }),
];
