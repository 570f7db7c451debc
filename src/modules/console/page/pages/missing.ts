/** An address that no page has. */
import { Page } from "../parts/page.ts";
import { html, type VNode } from "../preact.ts";

/** The page of any other address. */
export function MissingPage(): VNode {
  return html`<${Page} name="Not found">
    <p role="alert">There is no page at this address. <a href="/">Go to the overview</a>.</p>
  <//>`;
}
