/** The paths of the console's pages; what a page of an id shows is for the API to say. */

const PAGES = [
  ...["traffic", "approvals", "agents", "endpoints", "contracts", "records", "upstreams"],
  ...["nodes", "account"],
];
const WITH_ID: ReadonlySet<string> = new Set(["traffic", "approvals", "agents", "records"]);

/** Tells whether a page is there. */
export function isPagePath(path: string): boolean {
  const [, page = "", ...rest] = path.split("/");
  if (page === "") return rest.length === 0;
  if (rest.length === 0) return PAGES.includes(page);
  if (page === "endpoints") return rest.length >= 2;
  return WITH_ID.has(page) && rest.length === 1;
}

/** The decoded segments of a path; one that is not well encoded stays as it is. */
export function segmentsOf(path: string): readonly string[] {
  return path.split("/").filter(Boolean).map(decodeSegment);
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
