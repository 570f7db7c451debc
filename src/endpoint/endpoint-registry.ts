/**
 * The router: which endpoint serves a (method, path) pair, and which methods a path is known under.
 * A literal path wins, then the template with the fewest parameters; a parameter takes exactly one
 * segment, which must not be empty. Segments match as they are written, and a template takes none that
 * leads elsewhere without the encoding that it does not need. Two endpoints that could both claim one
 * request are refused at start-up. The cost of a lookup depends on how many forms templates have, not on
 * how many endpoints there are.   AGTP-API §5.4
 */

import { setMember } from "../base/json-value.ts";
import { nameText } from "../base/kept-text.ts";
import { atOnce, type Paced } from "../base/paced.ts";
import { plainPath } from "../base/percent-encoding.ts";
import type { Pair } from "../catalog/pair.ts";
import { compileTemplate, type Template } from "./path-template.ts";
import { createTemplateIndex, type TemplateIndex } from "./template-index.ts";

/** An endpoint that serves a request. */
interface RouteMatch<E> {
  readonly entry: E;
  /** Raw segments by parameter name; undefined for a literal path. */
  readonly values: Readonly<Record<string, string>> | undefined;
}

/** An entry that cannot be told apart from another one, which keeps its place. */
interface RouteConflict<E> {
  readonly entry: E;
  readonly other: E;
  readonly message: string;
}

/** A registry, and the entries that it refused. */
interface RegistryResult<E extends Pair> {
  readonly registry: EndpointRegistry<E>;
  readonly conflicts: readonly RouteConflict<E>[];
}

const NONE: readonly string[] = [];

/** Builds the registry. Of two entries in conflict the earlier one is served. */
export function createRegistry<E extends Pair>(entries: readonly E[]): RegistryResult<E> {
  return atOnce(creatingRegistry(entries));
}

/** Builds the registry, an entry a step. */
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

/** The router; it never changes. */
export class EndpointRegistry<E extends Pair> {
  /** The entries that are served, in their order. */
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

  /** The entry of a path without parameters. */
  findLiteral(method: string, path: string): E | undefined {
    return this.#literals.find(method, path);
  }

  /** Sorted; empty for an unknown path. Mostly the same list each time. */
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

  /** `/rooms/%61ll` is no way around `/rooms/all`, and what that asks for, to `/rooms/{id}`. */
  #isPlain({ entry }: RouteMatch<E>, method: string, path: string): boolean {
    const plain = plainPath(path);
    return plain === path || this.#match(method, plain)?.entry === entry;
  }

  /** Undefined: no template has as many. What is not found is asked for twice, and taken apart once. */
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
 * Endpoints whose path has no parameters, by method, then by path. Among ten thousand of them
 * memory that nothing has touched lately costs time, so there are few maps beside the large one,
 * and paths are copied out of their files to lie together.   AGTP-API §5.4
 */
interface LiteralIndex<E> {
  /** Adds an entry, unless its method and path are taken: by the entry it returns. */
  add(method: string, path: string, entry: E): E | undefined;
  find(method: string, path: string): E | undefined;
  /** Every method of the path, sorted; the same list each time. */
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

/** The values that a template captures from a path, undecoded; undefined when it does not match. */
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

/** The segments of a request path; undefined when they are more than any template has. */
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
