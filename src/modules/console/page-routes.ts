/**
 * The pages and their files. Every page is the same document, whose content comes from the API. A page for an unknown
 * id is 404, and says so itself.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { decodePart } from "../../base/percent-encoding.ts";
import type { Admit } from "./console-api.ts";
import { ConsoleFault, methodNotAllowed } from "./console-fault.ts";
import type { PageFiles } from "./page-files.ts";
import type { ConsolePlace } from "./place.ts";
import type { SignedIn } from "./sessions.ts";
import { findEndpoint } from "./views/endpoints.ts";
import { hasChain } from "./views/records.ts";
import type { Sources } from "./views/sources.ts";

interface PageParts {
  readonly pages: PageFiles;
  readonly place: ConsolePlace;
  readonly admit: Admit;
  signedInBy(request: FastifyRequest): SignedIn | undefined;
  isThere(segments: readonly string[]): boolean | Promise<boolean>;
}

/** First segments of page addresses; the API decides what a page with an id shows. */
const PAGES = [
  ...["traffic", "approvals", "agents", "endpoints", "contracts", "records", "upstreams"],
  ...["nodes", "account"],
];
const WITH_ID: ReadonlySet<string> = new Set(["traffic", "approvals", "agents", "records"]);

/** A changed file has a new address, so a cached one never goes stale. */
const KEPT = "public, max-age=31536000, immutable";
const READING = "GET, HEAD";

/** Adds the page routes, and the handler of every unrouted path. */
export function addPages(app: FastifyInstance, parts: PageParts): void {
  const { files, shell, version } = parts.pages;
  app.get("/page/*", async (request, reply) => {
    const [path = ""] = request.url.slice("/page/".length).split("?");
    const isKept = path.startsWith(version);
    const file = files.get(isKept ? path.slice(version.length) : path);
    if (isKept) reply.header("cache-control", KEPT);
    if (file === undefined) throw new ConsoleFault(404, "not-found", "there is no such file");
    return reply.type(file.type).send(file.body);
  });
  app.setNotFoundHandler(async (request, reply) => {
    const [path = ""] = request.url.split("?");
    const isRead = request.method === "GET" || request.method === "HEAD";
    const isApi = path === "/api" || path.startsWith("/api/");
    if (isApi) parts.admit(request, false);
    if (isApi || !(isRead || isPagePath(path))) {
      throw new ConsoleFault(404, "not-found", "nothing is served at this path");
    }
    if (!isRead) {
      reply.header("allow", READING);
      throw methodNotAllowed(READING);
    }
    if (parts.signedInBy(request) === undefined) {
      // Only pages redirect to the sign-in.
      if (!isPagePath(path)) {
        throw new ConsoleFault(404, "not-found", "nothing is served at this path");
      }
      if (request.url.length <= MAX_ASKED) {
        const asked = encodeURIComponent(request.url);
        const cookie = parts.place.cookies.set(asked, "page");
        reply.header("set-cookie", `${cookie}; Max-Age=${ASKED_S}`);
      }
      return reply.code(303).header("location", "/sign-in").send();
    }
    const isThere = isPagePath(path) && (await parts.isThere(segmentsOf(path)));
    return reply
      .code(isThere ? 200 : 404)
      .type(shell.type)
      .send(shell.body);
  });
}

/** Seconds for which a browser remembers the page to return to after sign-in. */
const ASKED_S = 600;
/** A longer address would leave no room for other cookies. */
const MAX_ASKED = 1_024;
/** Characters of an address that a header field may carry. */
const ADDRESS = /^[!-~]+$/;

/** Returns the page to return to after sign-in; undefined for anything but a page of this console. */
export function askedPage(
  field: string | undefined,
  { cookies }: Pick<ConsolePlace, "cookies">,
): string | undefined {
  const [asked = ""] = cookies.read(field, "page").map((one) => decodePart(one) ?? one);
  const [path = ""] = asked.split("?");
  return ADDRESS.test(asked) && isPagePath(path) ? asked : undefined;
}

function isPagePath(path: string): boolean {
  const [before, page = "", ...rest] = path.split("/");
  if (before !== "") return false;
  if (page === "") return rest.length === 0;
  if (rest.length === 0) return PAGES.includes(page);
  if (page === "endpoints") return rest.length >= 2;
  return WITH_ID.has(page) && rest.length === 1;
}

/** The decoded segments of a path; a badly encoded one stays as it is. */
function segmentsOf(path: string): readonly string[] {
  return path
    .split("/")
    .filter(Boolean)
    .map((one) => decodePart(one) ?? one);
}

/** True for a page without an id, or with a known one. */
export function isKnownPage(
  sources: Sources,
  [page = "", ...rest]: readonly string[],
): boolean | Promise<boolean> {
  const { state, directory, traffic, served } = sources;
  const [id, ...more] = rest;
  if (id === undefined) return true;
  switch (page) {
    case "traffic":
      return traffic.find(id) !== undefined;
    case "approvals":
      return state.escalations.find(id) !== undefined;
    case "agents":
      return directory.find(id) !== undefined;
    case "records":
      return hasChain(sources, id);
    default:
      return (
        findEndpoint(served().listed, { method: id, path: `/${more.join("/")}` }) !== undefined
      );
  }
}
