/** The place of the page, by the address bar: links of the console change it without loading anew. */
import { useEffect, useState } from "./preact.ts";

const MOVED = "console:moved";
/** Addresses that are not the page's own. */
const OTHERS = /^\/(?:api|page|sign-in|sign-out|oidc)(?:[/?]|$)/;

/** The address, as path and query. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
  /** Counts up with each time that somebody goes somewhere, be it to where the page is. */
  readonly visit: number;
}

/** Goes to an address of the console. */
function navigate(address: string): void {
  if (address === whole()) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  dispatchEvent(new Event(MOVED));
}

/** Changes the query of the address, without an entry in the history. */
export function replaceQuery(query: URLSearchParams): void {
  const text = query.toString();
  history.replaceState(null, "", text === "" ? location.pathname : `${location.pathname}?${text}`);
  shown = whole();
}

/** The address that is shown, without its fragment. */
let shown = whole();

/** The place of the page now. */
export function usePlace(): Place {
  const [place, setPlace] = useState(() => placeOf(0));
  useEffect(() => {
    const update = ({ type }: Event): void => {
      // To go to a fragment is to stay.
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

/** Takes clicks on the console's own links, unless they are for another tab. */
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

/** The decoded segments of a path; one that is not well encoded stays as it is. */
export function segmentsOf(path: string): readonly string[] {
  return path.split("/").filter(Boolean).map(decodeSegment);
}

/** An address from its parts, each encoded. */
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
