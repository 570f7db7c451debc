/** The page's entry point: draws the console into the shell, and keeps the focus in it. */
import { App } from "./app.ts";
import { html, render } from "./preact.ts";
import { followLinks } from "./router.ts";

const root = document.getElementById("app");
if (root !== null) {
  followLinks();
  keepFocus();
  render(html`<${App} />`, root);
}

/**
 * Keeps the keyboard focus: if the focused element disappears, such as a used button, the focus moves to its nearest
 * remaining surroundings, so that keyboard users do not start from the top again.
 */
function keepFocus(): void {
  /** The last focused element and its ancestors. */
  let path: readonly Element[] = [];
  document.addEventListener("focusin", ({ target }) => {
    path = target instanceof Element ? pathOf(target) : [];
  });
  document.addEventListener("focusout", ({ target }) => {
    queueMicrotask(() => {
      // The user left the element on purpose, so the focus is not restored.
      if (target instanceof Element && target.isConnected && isNowhere()) path = [];
    });
  });
  const look = (): void => {
    const [focused] = path;
    if (focused === undefined || focused.isConnected || !isNowhere()) return;
    const around = path.find((one) => one.isConnected && targetIn(one) !== undefined);
    path = [];
    if (around !== undefined) targetIn(around)?.focus();
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
}

function isNowhere(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}

function pathOf(element: Element): readonly Element[] {
  const path: Element[] = [];
  for (let one: Element | null = element; one !== null; one = one.parentElement) path.push(one);
  return path;
}

/** Returns the element in a part of the page that takes the focus, if there is one. */
function targetIn(part: Element): HTMLElement | undefined {
  if (part.matches("form")) return part.querySelector<HTMLElement>(FIELDS) ?? undefined;
  if (part.matches("main")) return part.querySelector<HTMLElement>("h1") ?? undefined;
  if (part.matches("[tabindex='0']")) return part as HTMLElement;
  const heading = part.querySelector<HTMLElement>("h1, h2, h3, h4");
  if (heading === null) return undefined;
  heading.tabIndex = -1;
  return heading;
}

const FIELDS = "input:not([type=hidden]), select, textarea, button";
