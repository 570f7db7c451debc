/**
 * Rules about who can reach the server and who it believes: what is convenient on loopback must
 * not slip onto a network.   AGTP "Security Considerations"
 */
import type { CrossCheck } from "./config.ts";
import {
  describeListener,
  exposedListener,
  exposedListeners,
  LISTENER_SECTIONS,
} from "./listeners.ts";

/** Every rule of this file. */
export const exposureChecks: readonly CrossCheck[] = [
  {
    sections: [...LISTENER_SECTIONS, "tls"],
    check: (config, report) => {
      const { tls } = config;
      const exposed = exposedListeners(config, "claims").find(({ key }) => key === "server");
      if (tls.cert !== undefined || tls.key !== undefined || exposed === undefined) return;
      report("tls.cert", `is required on ${describeListener(exposed)}`, {
        hint: "a self-made certificate is for loopback hosts only",
      });
    },
  },
  {
    sections: ["tls"],
    check: ({ tls }, report) => {
      if (tls.clientAuth === "none" || tls.clientCa !== undefined) return;
      report("tls.client_ca", `is required by client_auth = "${tls.clientAuth}"`, {
        hint: "agtp-keys agent-ca makes one, and agtp-keys agent-cert what agents show",
      });
    },
  },
  {
    sections: [...LISTENER_SECTIONS, "policies"],
    check: (config, report) => {
      const { identity } = config.policies;
      if (identity.assurance !== "header" || identity.allowUnverifiedIdentity) return;
      const exposed = exposedListener(config, "claims");
      if (exposed === undefined) return;
      report(
        "policies.identity.assurance",
        `must not be "header" on ${describeListener(exposed)}, where anybody may claim any Agent-ID`,
        { hint: 'use assurance = "certificate", or set allow_unverified_identity = true' },
      );
    },
  },
  {
    sections: ["tls", "policies"],
    check: ({ tls, policies }, report) => {
      if (policies.identity.assurance !== "certificate" || tls.clientAuth !== "none") return;
      report("policies.identity.assurance", '"certificate" needs tls.client_auth, got "none"', {
        hint: 'set tls.client_auth = "required" or "optional"',
      });
    },
  },
  {
    sections: [...LISTENER_SECTIONS, "policies"],
    check: (config, report) => {
      if (config.policies.identity.lifecycleAuth !== "open") return;
      const exposed = exposedListener(config, "anything");
      if (exposed === undefined) return;
      report(
        "policies.identity.lifecycle_auth",
        `must not be "open" on ${describeListener(exposed)}, where anybody could revoke agents`,
      );
    },
  },
  {
    sections: [...LISTENER_SECTIONS],
    check: (config, report) => {
      const { gateway } = config;
      if (gateway.cert !== undefined || gateway.allowPlainHttp) return;
      if (!exposedListeners(config, "calls").some(({ key }) => key === "gateway")) return;
      report("gateway.cert", `is required on host "${gateway.host}", which is not loopback`, {
        hint: "behind a proxy with TLS, set gateway.allow_plain_http = true",
      });
    },
  },
  // People's sessions are not for everybody on the way to read.
  {
    sections: [...LISTENER_SECTIONS],
    check: (config, report) => {
      const { cert, host } = config.console;
      if (cert !== undefined) return;
      if (!exposedListeners(config, "anything").some(({ key }) => key === "console")) return;
      report("console.cert", `is required on host "${host}", which is not loopback`);
    },
  },
];
