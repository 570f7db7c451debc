/**
 * Path templates: taken apart, compared with a path, and found among many by their form. Two templates
 * have the same form when they are equally long and have their literal segments at the same positions;
 * within a form a path leads to its template by one lookup. Forms are tried in the order of
 * specificity: fewest parameters first.   AGTP-API §5.2-5.4
 */

/** The segments of a path template. */
export interface Template {
  readonly segments: readonly string[];
  /** Positions of the literal segments. */
  readonly literals: readonly number[];
  readonly parameters: readonly { readonly name: string; readonly index: number }[];
}

const NONE: readonly string[] = [];
const PARAMETER = /^\{([A-Za-z0-9_]+)\}$/;

/** Undefined for a path without parameters, which is no template. */
export function compileTemplate(path: string): Template | undefined {
  const segments = path.slice(1).split("/");
  const literals: number[] = [];
  const parameters: { name: string; index: number }[] = [];
  for (const [index, segment] of segments.entries()) {
    const name = PARAMETER.exec(segment)?.[1];
    if (name === undefined) literals.push(index);
    else parameters.push({ name, index });
  }
  return parameters.length === 0 ? undefined : { segments, literals, parameters };
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
export function segmentsOf(path: string, max: number): readonly string[] | undefined {
  if (!path.startsWith("/")) return undefined;
  const segments = path.slice(1).split("/", max + 1);
  return segments.length > max ? undefined : segments;
}

/** The number of segments of a request path. */
export function countSegments(path: string): number {
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
export interface Leaf<E> {
  readonly entry: E;
  readonly template: Template;
}

/** The templates of a registry. */
export interface TemplateIndex<E> {
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

/** Creates an index without templates. */
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
