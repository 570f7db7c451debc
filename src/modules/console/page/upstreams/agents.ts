/** Agents elsewhere that endpoints call: whether their servers have them, and what they depend on. */

import { Badge } from "../parts/badge.ts";
import { type Fact, Facts, Stranger } from "../parts/facts.ts";
import { html, type VNode } from "../preact.ts";
import type { UpstreamAgent } from "./answers.ts";

/** Every agent with its health. */
export function UpstreamAgents({ agents }: { readonly agents: readonly UpstreamAgent[] }): VNode {
  if (agents.length === 0)
    return html`<p class="quiet">None is configured. Their manifests stand under [agntcy].</p>`;
  return html`${agents.map((agent) => html`<${Agent} key=${agent.base} agent=${agent} />`)}`;
}

function Agent({ agent }: { readonly agent: UpstreamAgent }): VNode {
  const { name, version, base, url, state, reason, dependencies } = agent;
  const facts: readonly Fact[] = [
    ["Served on", html`<code><${Stranger} text=${base} /></code>`],
    ["Version", html`<${Stranger} text=${version} />`],
    ["Address", url === null ? "not known" : html`<${Stranger} text=${url} />`],
    ["Reason", reason === undefined ? undefined : html`<${Stranger} text=${reason} />`],
    ["Depends on", dependencies.length === 0 ? undefined : dependencies.map(dependencyOf)],
  ];
  return html`<article>
    <h3><${Stranger} text=${name} /> <${Badge} word=${state} /></h3>
    <${Facts} facts=${facts} />
  </article>`;
}

function dependencyOf({ name, status, reason }: UpstreamAgent["dependencies"][number]): VNode {
  return html`<div key=${name}><${Stranger} text=${name} /> <${Badge} word=${status} />
    ${reason !== undefined && html` <span class="quiet"><${Stranger} text=${reason} /></span>`}</div>`;
}
