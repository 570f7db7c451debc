/**
 * An index of path templates by form: their length, and the positions of their literal segments. A
 * lookup's cost depends on the number of forms, not of templates.   AGTP-API §5.4
 */
import type { Template } from "./path-template.ts";

const NONE: readonly string[] = [];

/** Joins the segments at some positions to a key, which is unique since segments contain no slash. */
function joinSegments(segments: readonly string[], positions: readonly number[]): string {
  let key = "";
  for (const position of positions) key += `${segments[position]}/`;
  return key;
}

/** A template with its entry. */
interface Leaf<E> {
  readonly entry: E;
  readonly template: Template;
}

/** The index of templates by form. */
export interface TemplateIndex<E> {
  /** The maximum number of segments of a template. */
  readonly maxSegments: number;
  /** Adds an entry, or returns one of the same method that matches a path equally well. */
  add(method: string, template: Template, entry: E): E | undefined;
  find(method: string, segments: readonly string[]): Leaf<E> | undefined;
  /** Tells whether any template has this number of segments. */
  hasLength(segments: number): boolean;
  /** Returns the methods with a template for the path, sorted; the same list if all are of one form. */
  methods(segments: readonly string[]): readonly string[];
}

/** Templates that differ only in the names of their parameters. */
interface Leaves<E> {
  /** The segments of one of the templates. */
  readonly segments: readonly string[];
  readonly byMethod: Map<string, Leaf<E>>;
  /** The methods, sorted. */
  methods: readonly string[];
}

interface Form<E> {
  readonly literals: readonly number[];
  readonly parameters: readonly number[];
  /** Leaves by literal segments, then by method. */
  readonly leaves: Map<string, Leaves<E>>;
  /** The last match, compared first: building and looking up the key takes 0.4 µs. */
  last: Leaves<E> | undefined;
  /** For each set of positions shared with another form: an entry by method and segments there. */
  readonly overlaps: Map<string, Map<string, E>>;
}

/**
 * Creates an empty index. Two templates have the same form if they are equally long and have
 * literal segments at the same positions; within a form, one lookup finds a path's template. Forms
 * are tried by specificity, fewest parameters first.
 */
export function createTemplateIndex<E>(): TemplateIndex<E> {
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

function matchForm<E>(form: Form<E>, segments: readonly string[]): Leaves<E> | undefined {
  const { literals, parameters, leaves, last } = form;
  const isLast = last !== undefined && literals.every((at) => segments[at] === last.segments[at]);
  const found = isLast ? last : leaves.get(joinSegments(segments, literals));
  if (found === undefined) return undefined;
  form.last = found;
  return parameters.some((index) => segments[index] === "") ? undefined : found;
}

/**
 * Returns an entry of the method that is equally specific and matches a common path. An empty
 * literal segment counts as a parameter's value, so that ambiguous-looking templates are refused,
 * too.
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

/** Returns the entries of a form by their segments at some positions; `insert` keeps it up to date. */
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
    last: undefined,
    overlaps: new Map(),
  };
  forms.push(form);
  forms.sort((a, b) => a.parameters.length - b.parameters.length);
  return form;
}

function insert<E>(form: Form<E>, method: string, template: Template, entry: E): void {
  const key = joinSegments(template.segments, form.literals);
  const { segments } = template;
  const leaves = form.leaves.get(key) ?? { segments, byMethod: new Map(), methods: NONE };
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
