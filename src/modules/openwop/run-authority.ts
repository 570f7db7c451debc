/**
 * The authority of a run at the moment of each act: the scopes that its owner had at the start and still has. A run has
 * none once its owner's API key is gone, its agent is inactive or may not create runs, a certificate is revoked, or a
 * delegation has expired. Identities and grants are those of the deployment now served, whichever one executes the run.
 * OpenWOP RFC 0072 §D, AGTP "Agent Lifecycle", "DELEGATE"
 */
import { isOneRevoked } from "../../dispatch/caller/shown-certificates.ts";
import type { IdentityConfig } from "../../dispatch/policy/policies-section.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { commonScopes, covers } from "../../identity/authority-scope.ts";
import type { CertificateRegister } from "../../state/registers/certificate-register.ts";
import type { RunOwner } from "./agent-executor.ts";
import type { ApiKeys, ApiScope } from "./http/api-keys.ts";

interface Served {
  readonly keys: Pick<ApiKeys, "named">;
  readonly directory: Pick<AgentDirectory, "find">;
  readonly unknownAgents: IdentityConfig["unknownAgents"];
  /** The reason that an agent may not act, or undefined. */
  findInactive(document: AgentDocument): string | undefined;
  readonly certificates: Pick<CertificateRegister, "isRevoked">;
  /** The scopes that the operator grants to an agent's tool calls. */
  grantsOf(agentId: string): readonly string[];
}

/** The scopes of a run, or a text that says why it has none. */
export type Authority = readonly string[] | string;

const BEGINS: ApiScope = "runs:create";

export class RunAuthority {
  readonly #now: () => number;
  #served: Served | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Uses the identities and grants of a newly served deployment. */
  serve(served: Served): void {
    this.#served = served;
  }

  /** The scopes that the tool calls of an owner's runs may use. */
  ofOwner(owner: RunOwner): Authority {
    const served = this.#served;
    if (served === undefined) return "no deployment is served yet";
    if (owner.agentId !== undefined) return this.#ofAgent(owner, owner.agentId, served);
    const key = served.keys.named(owner);
    if (key?.scopes.has(BEGINS) !== true) return "its API key may begin no runs any more";
    return commonScopes(owner.scopes, key.agtpScopes);
  }

  /** The scopes that the operator grants to the tool calls of a hosted agent. */
  ofHosted(agentId: string): readonly string[] {
    return this.#served?.grantsOf(agentId) ?? [];
  }

  #ofAgent({ scopes, lent, shown }: RunOwner, agentId: string, served: Served): Authority {
    const { directory, unknownAgents, findInactive, certificates } = served;
    if (isOneRevoked(shown, certificates))
      return "a certificate that it was begun with was revoked";
    if (lent !== undefined && lent.until <= this.#now()) return "what was lent to it is over";
    const own = directory.find(agentId);
    const inactive = own && findInactive(own);
    if (inactive !== undefined) return inactive;
    let held = scopes;
    for (const grantor of lent?.by ?? [agentId]) {
      const document = directory.find(grantor);
      if (document === undefined) {
        if (lent === undefined && unknownAgents === "accept") continue;
        return "the agent is not known any more";
      }
      const lapse = findInactive(document);
      if (lapse !== undefined) return lapse;
      if (!covers(document.scopes, BEGINS)) return "the agent may begin no runs any more";
      held = commonScopes(held, document.scopes);
    }
    return held;
  }
}
