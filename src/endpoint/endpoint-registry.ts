/**
 * The router: finds the endpoint of a (method, path) pair, and the methods of a path. A literal
 * path wins, then the template with the fewest parameters; a parameter matches exactly one
 * non-empty segment. Segments are compared as written, but a template does not match a path that
 * leads to another endpoint once needless percent-encoding is removed. Two endpoints that match the
 * same request equally well are refused at start-up. A lookup's cost depends on the number of
 * template forms, not of endpoints.   AGTP-API §5.4
 */

import { setMember } from "../base/json-value.ts";
import { nameText } from "../base/kept-text.ts";
import { atOnce, type Paced } from "../base/paced.ts";
import { plainPath } from "../base/percent-encoding.ts";
import type { Pair } from "../catalog/pair.ts";
import { compileTemplate, type Template } from "./path-template.ts";
import { createTemplateIndex, type TemplateIndex } from "./template-index.ts";

/** The endpoint that serves a request, with its path values. */
interface RouteMatch<E> {
  readonly entry: E;
  /** Raw segments by parameter name; undefined for a literal path. */
  readonly values: Readonly<Record<string, string>> | undefined;
}

/** An entry that conflicts with an earlier one, which stays. */
interface RouteConflict<E> {
  readonly entry: E;
  readonly other: E;
  readonly message: string;
}

/** A registry, with the refused entries. */
interface RegistryResult<E extends Pair> {
  readonly registry: EndpointRegistry<E>;
  readonly conflicts: readonly RouteConflict<E>[];
}

const NONE: readonly string[] = [];

/** Builds the registry; the earlier of two conflicting entries is served. */
export function createRegistry<E extends Pair>(entries: readonly E[]): RegistryResult<E> {
  return atOnce(creatingRegistry(entries));
}

/** Builds the registry, one entry a step. */
export function* creatingRegistry<E extends Pair>(entries: readonly E[]): Paced<RegistryResult<E>> {
  const literals = createLiteralIndex<E>();
  const templates = createTemplateIndex<E>();
  const served: E[] = [];
  const conflicts: RouteConflict<E>[] = [];
  for (const entry of entries) {
    const template = compileTemplate(entry.path);
    const other =
      template === undefined
        ? literals.add(entry.method, entry.path, entry)
        : templates.add(entry.method, template, entry);
    if (other === undefined) served.push(entry);
    else conflicts.push({ entry, other, message: describeConflict(entry, other) });
    yield;
  }
  return { registry: new EndpointRegistry(literals, templates, served), conflicts };
}

function describeConflict(entry: Pair, other: Pair): string {
  const pair = `${entry.method} ${entry.path}`;
  if (entry.path === other.path) return `${pair} is registered already`;
  return `${pair} and ${other.method} ${other.path} match the same paths equally well`;
}

/** The router, which never changes. */
export class EndpointRegistry<E extends Pair> {
  /** The served entries, in order. */
  readonly entries: readonly E[];
  readonly #literals: LiteralIndex<E>;
  readonly #templates: TemplateIndex<E>;
  #path = "";
  #segments: readonly string[] | undefined;

  constructor(literals: LiteralIndex<E>, templates: TemplateIndex<E>, entries: readonly E[]) {
    this.#literals = literals;
    this.#templates = templates;
    this.entries = entries;
  }

  find(method: string, path: string): RouteMatch<E> | undefined {
    const match = this.#match(method, path);
    return match?.values === undefined || this.#isPlain(match, method, path) ? match : undefined;
  }

  /** Returns the entry of a path without parameters. */
  findLiteral(method: string, path: string): E | undefined {
    return this.#literals.find(method, path);
  }

  /** Returns the methods of a path, sorted; empty for an unknown path. Usually the same list each time. */
  methodsFor(path: string): readonly string[] {
    const literal = this.#literals.methods(path);
    const segments = this.#segmentsOf(path);
    const others = segments === undefined ? NONE : this.#templates.methods(segments);
    if (others.length === 0) return literal;
    if (literal.length > 0) return [...new Set([...literal, ...others])].sort();
    return path.includes("%") ? others.filter((method) => this.find(method, path)) : others;
  }

  #match(method: string, path: string): RouteMatch<E> | undefined {
    const literal = this.findLiteral(method, path);
    if (literal !== undefined) return { entry: literal, values: undefined };
    const segments = this.#segmentsOf(path);
    const found = segments && this.#templates.find(method, segments);
    return found && { entry: found.entry, values: valuesOf(found.template, segments) };
  }

  /** Keeps `/rooms/%61ll` from reaching `/rooms/{id}` and so avoiding the rules of `/rooms/all`. */
  #isPlain({ entry }: RouteMatch<E>, method: string, path: string): boolean {
    const plain = plainPath(path);
    return plain === path || this.#match(method, plain)?.entry === entry;
  }

  /** Splits a path; undefined if no template has that many segments. Cached, since a miss asks twice. */
  #segmentsOf(path: string): readonly string[] | undefined {
    if (path === this.#path) return this.#segments;
    this.#path = path;
    this.#segments = this.#templates.hasLength(countSegments(path))
      ? segmentsOf(path, this.#templates.maxSegments)
      : undefined;
    return this.#segments;
  }
}

function valuesOf(
  { parameters }: Template,
  segments: readonly string[],
): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const { name, index } of parameters) setMember(values, name, segments[index] ?? "");
  return values;
}

/**
 * Endpoints with literal paths, by method, then by path. With ten thousand of them, untouched
 * memory costs time, so there are few maps besides the large one, and paths are copied out of their
 * files to lie close together.   AGTP-API §5.4
 */
interface LiteralIndex<E> {
  /** Adds an entry, or returns the one that has its method and path. */
  add(method: string, path: string, entry: E): E | undefined;
  find(method: string, path: string): E | undefined;
  /** Returns the methods of a path, sorted; the same list each time. */
  methods(path: string): readonly string[];
}

function createLiteralIndex<E>(): LiteralIndex<E> {
  const entries = new Map<string, Map<string, E>>();
  const methods = new Map<string, readonly string[]>();
  return {
    add(method, path, entry) {
      const paths = entries.get(method) ?? new Map<string, E>();
      const other = paths.get(path);
      if (other !== undefined) return other;
      entries.set(nameText(method), paths.set(nameText(path), entry));
      methods.set(path, [...(methods.get(path) ?? []), method].sort());
      return undefined;
    },
    find: (method, path) => entries.get(method)?.get(path),
    methods: (path) => methods.get(path) ?? NONE,
  };
}

/** Returns the path values of a template, undecoded; undefined if the path does not match. */
export function matchTemplate(
  template: string,
  path: string,
): Readonly<Record<string, string>> | undefined {
  const compiled = template.includes("{") ? compileTemplate(template) : undefined;
  if (compiled === undefined) return template === path ? {} : undefined;
  const segments = segmentsOf(path, compiled.segments.length);
  if (segments === undefined || segments.length !== compiled.segments.length) return undefined;
  if (compiled.literals.some((at) => segments[at] !== compiled.segments[at])) return undefined;
  if (compiled.parameters.some(({ index }) => segments[index] === "")) return undefined;
  return Object.fromEntries(
    compiled.parameters.map(({ name, index }) => [name, segments[index] ?? ""]),
  );
}

/** Splits a request path; undefined if it has more than `max` segments. */
function segmentsOf(path: string, max: number): readonly string[] | undefined {
  if (!path.startsWith("/")) return undefined;
  const segments: string[] = [];
  let start = 1;
  // `split` takes three times as long.
  for (let at = path.indexOf("/", 1); at !== -1; at = path.indexOf("/", start)) {
    if (segments.push(path.slice(start, at)) >= max) return undefined;
    start = at + 1;
  }
  segments.push(path.slice(start));
  return segments;
}

function countSegments(path: string): number {
  let count = 0;
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) count += 1;
  return count;
}
