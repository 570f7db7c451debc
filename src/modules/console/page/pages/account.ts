/** Account: who is signed in, the person's passkeys, and the keys that are pinned in this browser. */
import { Facts, Stranger } from "../parts/facts.ts";
import { Page, Section } from "../parts/page.ts";
import { PasskeyPanel } from "../passkeys/panel.ts";
import { html, type VNode } from "../preact.ts";
import { KeyPanel } from "../records/key-panel.ts";
import { isOperator, session } from "../session.ts";

/** The page at `/account`. */
export function AccountPage(): VNode {
  const { name, role, server_id, inspect_only } = session();
  const facts = [
    ["Name", html`<${Stranger} text=${name} />`],
    ["Role", role === "operator" ? "operator: sees and decides" : "viewer: sees"],
    ["Server", html`<${Stranger} text=${server_id} />`],
  ];
  return html`<${Page} name="Account">
    <${Facts} facts=${facts} />
    ${isOperator() && !inspect_only && html`<${Section} title="Passkeys"><${PasskeyPanel} /><//>`}
    <${Section} title="Keys"><${KeyPanel} /><//>
  <//>`;
}
