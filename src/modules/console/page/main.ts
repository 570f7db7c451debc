/** The page's entry: draws the console into the shell. */
import { App } from "./app.ts";
import { keepFocus } from "./focus.ts";
import { html, render } from "./preact.ts";
import { followLinks } from "./router.ts";

const root = document.getElementById("app");
if (root !== null) {
  followLinks();
  keepFocus();
  render(html`<${App} />`, root);
}
