/** The page's entry: draws the console into the shell, and keeps the focus on it. */
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
 * Keeps the focus on the page: where the element that has it goes, such as a button that was used up,
 * it moves to what is left around it, so that nobody who works by keys starts from the top again.
 */
function keepFocus(): void {
  /** The element that had the focus last, and all around it. */
  let path: readonly Element[] = [];
  document.addEventListener("focusin", ({ target }) => {
    path = target instanceof Element ? pathOf(target) : [];
  });
  document.addEventListener("focusout", ({ target }) => {
    queueMicrotask(() => {
      // Somebody has left it, and wants it nowhere.
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

/** The place in a part of the page that the focus goes to; undefined where it has none. */
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
