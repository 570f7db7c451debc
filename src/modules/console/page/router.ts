/** The page's place from the address bar; the console's links change it without reloading. */
import { useEffect, useState } from "./preact.ts";

const MOVED = "console:moved";
/** Addresses outside the page. */
const OTHERS = /^\/(?:api|page|sign-in|sign-out|oidc)(?:[/?]|$)/;

/** The current address, as path and query. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
  /** Counts navigations, including those to the current address. */
  readonly visit: number;
}

/** Navigates to an address of the console. */
function navigate(address: string): void {
  if (address === whole()) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  dispatchEvent(new Event(MOVED));
}

/** Replaces the query of the address, without a history entry. */
export function replaceQuery(query: URLSearchParams): void {
  const text = query.toString();
  history.replaceState(null, "", text === "" ? location.pathname : `${location.pathname}?${text}`);
  shown = whole();
}

/** The current address, without its fragment. */
let shown = whole();

/** Returns the current place. */
export function usePlace(): Place {
  const [place, setPlace] = useState(() => placeOf(0));
  useEffect(() => {
    const update = ({ type }: Event): void => {
      // A change of the fragment does not leave the page.
      if (type === "popstate" && whole() === shown) return;
      shown = whole();
      setPlace(({ visit }) => placeOf(visit + 1));
    };
    for (const name of [MOVED, "popstate"]) addEventListener(name, update);
    return () => {
      for (const name of [MOVED, "popstate"]) removeEventListener(name, update);
    };
  }, []);
  return place;
}

/** Handles clicks on the console's own links, unless they open another tab. */
export function followLinks(): void {
  document.addEventListener("click", (event) => {
    const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey);
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    const href = link?.getAttribute("href") ?? "";
    if (!isPlain || event.defaultPrevented || link?.hasAttribute("download")) return;
    if (!href.startsWith("/") || href.startsWith("//") || OTHERS.test(href)) return;
    event.preventDefault();
    navigate(href);
  });
}

/** The decoded segments of a path; a badly encoded one stays as it is. */
export function segmentsOf(path: string): readonly string[] {
  return path.split("/").filter(Boolean).map(decodeSegment);
}

/** Builds an address from its parts, each encoded. */
export function address(...parts: readonly string[]): string {
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

function placeOf(visit: number): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search), visit };
}

function whole(): string {
  return location.pathname + location.search;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
