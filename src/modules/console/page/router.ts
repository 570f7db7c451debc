/** The place of the page, by the address bar: links of the console change it without loading anew. */
import { useEffect, useState } from "./preact.ts";

const MOVED = "console:moved";
/** Addresses that are not the page's own. */
const OTHERS = /^\/(?:api|page|sign-in|sign-out|oidc)(?:[/?]|$)/;

/** The address, as path and query. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

/** Goes to an address of the console. */
function navigate(address: string): void {
  history.pushState(null, "", address);
  dispatchEvent(new Event(MOVED));
}

/** Changes the query of the address, without an entry in the history. */
export function replaceQuery(query: URLSearchParams): void {
  const text = query.toString();
  history.replaceState(null, "", text === "" ? location.pathname : `${location.pathname}?${text}`);
}

/** The place of the page now. */
export function usePlace(): Place {
  const [place, setPlace] = useState(currentPlace);
  useEffect(() => {
    const update = (): void => setPlace(currentPlace());
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

function currentPlace(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
