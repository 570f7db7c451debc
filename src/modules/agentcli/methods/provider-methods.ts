/** The methods that list providers and verifiers, and say what one of them can do. */
import { invalidArgument, isFailure } from "../failure.ts";
import { AUTHORIZATION_PROVIDERS } from "../governance/authorization-providers.ts";
import { EVIDENCE_PROVIDERS } from "../governance/evidence-providers.ts";
import { PROOF_VERIFIERS } from "../governance/proof-verifiers.ts";
import { IDENTITY_PROVIDERS } from "../identity/providers.ts";
import type { Method } from "./method.ts";
import { requiredText } from "./parameters.ts";

/** The methods, by name. */
export const PROVIDER_METHODS: Readonly<Record<string, Method>> = {
  "agentcli.identity.providers": () => ({ ok: true, providers: namesOf(IDENTITY_PROVIDERS) }),
  "agentcli.identity.schema": (params) => {
    const name = requiredText(params, "provider");
    if (isFailure(name)) return name;
    const provider = IDENTITY_PROVIDERS.get(name);
    if (provider === undefined) return invalidArgument(`Unknown identity provider: ${name}`);
    return { ok: true, provider: name, capabilities: provider.capabilities };
  },
  "agentcli.authorizationProof.methods": () => ({ ok: true, methods: namesOf(PROOF_VERIFIERS) }),
  "agentcli.authorizationProof.schema": (params) => {
    const name = requiredText(params, "method");
    if (isFailure(name)) return name;
    const verifier = PROOF_VERIFIERS.get(name);
    if (verifier === undefined) return invalidArgument(`Unknown verifier method: ${name}`);
    return { ok: true, method: name, verifier: name, capabilities: verifier.capabilities };
  },
  "agentcli.authorization.providers": () => ({
    ok: true,
    providers: namesOf(AUTHORIZATION_PROVIDERS),
  }),
  "agentcli.authorization.schema": (params) => {
    const name = requiredText(params, "provider");
    if (isFailure(name)) return name;
    const provider = AUTHORIZATION_PROVIDERS.get(name);
    if (provider === undefined) return invalidArgument(`Unknown authorization provider: ${name}`);
    return { ok: true, provider: name, capabilities: provider.capabilities };
  },
  "agentcli.evidence.providers": () => ({ ok: true, providers: namesOf(EVIDENCE_PROVIDERS) }),
  "agentcli.evidence.schema": (params) => {
    const name = requiredText(params, "provider");
    if (isFailure(name)) return name;
    const provider = EVIDENCE_PROVIDERS.get(name);
    if (provider === undefined) return invalidArgument(`Unknown evidence provider: ${name}`);
    return { ok: true, provider: name, methods: provider.methods };
  },
};

function namesOf(
  registered: ReadonlyMap<string, { readonly capabilities: object }>,
): readonly object[] {
  return [...registered].map(([name, { capabilities }]) => ({ name, capabilities }));
}
