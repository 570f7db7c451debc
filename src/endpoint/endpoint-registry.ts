/**
 * The router: which endpoint serves a (method, path) pair, and which methods a path is known under.
 * A literal path wins, then the template with the fewest parameters; a parameter takes exactly one
 * segment, which must not be empty. Two endpoints that could both claim one request are refused at
 * start-up. The cost of a lookup depends on how many forms templates have, not on how many
 * endpoints there are.   AGTP-API §5.4
 */

import { setMember } from "../base/json-value.ts";
import { nameText } from "../base/kept-text.ts";
import { atOnce, type Paced } from "../base/paced.ts";
import type { Pair } from "../catalog/pair.ts";
import { compileTemplate, type Template } from "./path-template.ts";

/** An endpoint that serves a request. */
export interface RouteMatch<E> {
  readonly entry: E;
  /** Raw segments by parameter name; undefined for a literal path. */
  readonly values: Readonly<Record<string, string>> | undefined;
}

/** An entry that cannot be told apart from another one, which keeps its place. */
export interface RouteConflict<E> {
  readonly entry: E;
  readonly other: E;
  readonly message: string;
}

/** The router; it never changes. */
export interface EndpointRegistry<E extends Pair> {
  find(method: string, path: string): RouteMatch<E> | undefined;
  /** The entry of a path without parameters. */
  findLiteral(method: string, path: string): E | undefined;
  /** Sorted; empty for an unknown path. Mostly the same list each time. */
  methodsFor(path: string): readonly string[];
  /** The entries that are served, in their order. */
  readonly entries: readonly E[];
}

/** A registry, and the entries that it refused. */
export interface RegistryResult<E extends Pair> {
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
  return { registry: new Registry(literals, templates, served), conflicts };
}

function describeConflict(entry: Pair, other: Pair): string {
  const pair = `${entry.method} ${entry.path}`;
  if (entry.path === other.path) return `${pair} is registered already`;
  return `${pair} and ${other.method} ${other.path} match the same paths equally well`;
}

class Registry<E extends Pair> implements EndpointRegistry<E> {
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
    const literal = this.findLiteral(method, path);
    if (literal !== undefined) return { entry: literal, values: undefined };
    const segments = this.#segmentsOf(path);
    const found = segments && this.#templates.find(method, segments);
    return found && { entry: found.entry, values: valuesOf(found.template, segments) };
  }

  findLiteral(method: string, path: string): E | undefined {
    return this.#literals.find(method, path);
  }

  methodsFor(path: string): readonly string[] {
    const literal = this.#literals.methods(path);
    const segments = this.#segmentsOf(path);
    const others = segments === undefined ? NONE : this.#templates.methods(segments);
    if (others.length === 0) return literal;
    return literal.length === 0 ? others : [...new Set([...literal, ...others])].sort();
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
  const compiled = compileTemplate(template);
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

/** The number of segments of a request path. */
function countSegments(path: string): number {
  let count = 0;
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) count += 1;
  return count;
}

/** The segments at some positions as one key; segments hold no slash, so no two keys are alike. */
function joinSegments(segments: readonly string[], positions: readonly number[]): string {
  let key = "";
  for (const position of positions) key += `${segments[position]}/`;
  return key;
}

/** A template, and what was registered under it. */
interface Leaf<E> {
  readonly entry: E;
  readonly template: Template;
}

interface TemplateIndex<E> {
  /** The most segments that a template has. */
  readonly maxSegments: number;
  /** Adds an entry, unless another one of the same method matches a path equally well. */
  add(method: string, template: Template, entry: E): E | undefined;
  find(method: string, segments: readonly string[]): Leaf<E> | undefined;
  /** Tells whether a template has so many segments. */
  hasLength(segments: number): boolean;
  /** Every method with a template for the path, sorted; the same list where all are of one form. */
  methods(segments: readonly string[]): readonly string[];
}

/** The templates that differ in the names of their parameters alone. */
interface Leaves<E> {
  readonly byMethod: Map<string, Leaf<E>>;
  /** Sorted. */
  methods: readonly string[];
}

interface Form<E> {
  readonly literals: readonly number[];
  readonly parameters: readonly number[];
  /** By the literal segments, then by method. */
  readonly leaves: Map<string, Leaves<E>>;
  /** By the positions shared with another form, by method and the segments there: any one entry. */
  readonly overlaps: Map<string, Map<string, E>>;
}

/**
 * Creates an index without templates, which are found by their form. Two templates have the same form when they
 * are equally long and have their literal segments at the same positions; within a form a path leads to its
 * template by one lookup. Forms are tried in the order of specificity: fewest parameters first.
 */
function createTemplateIndex<E>(): TemplateIndex<E> {
  /** Forms by number of segments, most specific first. */
  const forms = new Map<number, Form<E>[]>();
  let maxSegments = 0;
  return {
    get maxSegments() {
      return maxSegments;
    },
    add(method, template, entry) {
      const { length } = template.segments;
      const alike = forms.get(length) ?? [];
      const other = findRival(alike, method, template);
      if (other !== undefined) return other;
      forms.set(length, alike);
      insert(formOf(alike, template), method, template, entry);
      maxSegments = Math.max(maxSegments, length);
      return undefined;
    },
    find(method, segments) {
      for (const form of forms.get(segments.length) ?? []) {
        const leaf = matchForm(form, segments)?.byMethod.get(method);
        if (leaf !== undefined) return leaf;
      }
      return undefined;
    },
    hasLength: (segments) => forms.has(segments),
    methods(segments) {
      let found = NONE;
      for (const form of forms.get(segments.length) ?? []) {
        const { methods = NONE } = matchForm(form, segments) ?? {};
        if (found.length === 0) found = methods;
        else if (methods.length > 0) found = [...new Set([...found, ...methods])].sort();
      }
      return found;
    },
  };
}

function matchForm<E>(
  { literals, parameters, leaves }: Form<E>,
  segments: readonly string[],
): Leaves<E> | undefined {
  const found = leaves.get(joinSegments(segments, literals));
  if (found === undefined) return undefined;
  return parameters.some((index) => segments[index] === "") ? undefined : found;
}

/**
 * An entry of the method, as specific as the template, that matches a path it matches too. An empty
 * literal segment counts as one that a parameter could take: what reads alike is refused as well.
 */
function findRival<E>(
  forms: readonly Form<E>[],
  method: string,
  { segments, literals, parameters }: Template,
): E | undefined {
  for (const form of forms) {
    if (form.parameters.length !== parameters.length) continue;
    const shared = literals.filter((index) => form.literals.includes(index));
    const rival = overlapOf(form, shared).get(`${method} ${joinSegments(segments, shared)}`);
    if (rival !== undefined) return rival;
  }
  return undefined;
}

/** The entries of a form by what they have at some positions; kept up to date by `insert`. */
function overlapOf<E>(form: Form<E>, shared: readonly number[]): ReadonlyMap<string, E> {
  const name = shared.join(",");
  const known = form.overlaps.get(name);
  if (known !== undefined) return known;
  const entries = new Map<string, E>();
  for (const { byMethod } of form.leaves.values()) {
    for (const [method, { entry, template }] of byMethod) {
      addOnce(entries, `${method} ${joinSegments(template.segments, shared)}`, entry);
    }
  }
  form.overlaps.set(name, entries);
  return entries;
}

function formOf<E>(forms: Form<E>[], { literals, parameters }: Template): Form<E> {
  const known = forms.find((form) => form.literals.join(",") === literals.join(","));
  if (known !== undefined) return known;
  const form: Form<E> = {
    literals,
    parameters: parameters.map(({ index }) => index),
    leaves: new Map(),
    overlaps: new Map(),
  };
  forms.push(form);
  forms.sort((a, b) => a.parameters.length - b.parameters.length);
  return form;
}

function insert<E>(form: Form<E>, method: string, template: Template, entry: E): void {
  const key = joinSegments(template.segments, form.literals);
  const leaves = form.leaves.get(key) ?? { byMethod: new Map<string, Leaf<E>>(), methods: NONE };
  leaves.byMethod.set(method, { entry, template });
  leaves.methods = [...leaves.byMethod.keys()].sort();
  form.leaves.set(key, leaves);
  for (const [name, entries] of form.overlaps) {
    const shared = name === "" ? [] : name.split(",").map(Number);
    addOnce(entries, `${method} ${joinSegments(template.segments, shared)}`, entry);
  }
}

function addOnce<E>(entries: Map<string, E>, key: string, entry: E): void {
  if (!entries.has(key)) entries.set(key, entry);
}
