/**
 * Rules about who can reach the server and who it believes: what is convenient on loopback must
 * not slip onto a network.   AGTP "Security Considerations"
 */
import type { CrossCheck } from "./cross-check.ts";
import { isLoopbackHost } from "./loopback.ts";

const serverCertificate: CrossCheck = {
  sections: ["server", "tls"],
  check: ({ server, tls }, report) => {
    if (tls.cert !== undefined || tls.key !== undefined || isLoopbackHost(server.host)) return;
    report("tls.cert", `is required on host "${server.host}"`, {
      hint: "a self-made certificate is for loopback hosts only",
    });
  },
};

const clientCa: CrossCheck = {
  sections: ["tls"],
  check: ({ tls }, report) => {
    if (tls.clientAuth === "none" || tls.clientCa !== undefined) return;
    report("tls.client_ca", `is required by client_auth = "${tls.clientAuth}"`);
  },
};

const headerAssurance: CrossCheck = {
  sections: ["server", "policies"],
  check: ({ server, policies: { identity } }, report) => {
    if (identity.assurance !== "header" || identity.allowUnverifiedIdentity) return;
    if (isLoopbackHost(server.host)) return;
    report(
      "policies.identity.assurance",
      `must not be "header" on host "${server.host}", where anybody may claim any Agent-ID`,
      { hint: 'use assurance = "certificate", or set allow_unverified_identity = true' },
    );
  },
};

const certificateAssurance: CrossCheck = {
  sections: ["tls", "policies"],
  check: ({ tls, policies }, report) => {
    if (policies.identity.assurance !== "certificate" || tls.clientAuth !== "none") return;
    report("policies.identity.assurance", '"certificate" needs tls.client_auth, got "none"', {
      hint: 'set tls.client_auth = "required" or "optional"',
    });
  },
};

const openLifecycle: CrossCheck = {
  sections: ["server", "policies"],
  check: ({ server, policies }, report) => {
    if (policies.identity.lifecycleAuth !== "open" || isLoopbackHost(server.host)) return;
    report(
      "policies.identity.lifecycle_auth",
      `must not be "open" on host "${server.host}", where anybody could revoke agents`,
    );
  },
};

const plainGateway: CrossCheck = {
  sections: ["gateway"],
  check: ({ gateway }, report) => {
    if (!gateway.enabled || gateway.cert !== undefined || isLoopbackHost(gateway.host)) return;
    if (gateway.allowPlainHttp) return;
    report("gateway.cert", `is required on host "${gateway.host}", which is not loopback`, {
      hint: "behind a proxy with TLS, set gateway.allow_plain_http = true",
    });
  },
};

/** Every rule of this file. */
export const exposureChecks: readonly CrossCheck[] = [
  serverCertificate,
  clientCa,
  headerAssurance,
  certificateAssurance,
  openLifecycle,
  plainGateway,
];
