/** Reads points of metrics out of the registry of `/metrics`. */

/** A metric of prom-client, as it describes it. */
export interface PromMetric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly PromValue[];
}

interface PromValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly metricName?: string;
}

type Attributes = Readonly<Record<string, string>>;

/** A point of a counter or a gauge. */
export interface Point {
  readonly attributes: Attributes;
  readonly value: number;
}

/** A point of a histogram; counts are of one bucket each. */
export interface HistogramPoint {
  readonly attributes: Attributes;
  readonly value: {
    readonly count: number;
    readonly sum: number;
    readonly buckets: { readonly boundaries: number[]; readonly counts: number[] };
  };
}

/** Reads the points of a counter or a gauge. */
export function readPoints({ values }: PromMetric): readonly Point[] {
  return values.map(({ value, labels }) => ({ attributes: texts(labels), value }));
}

interface Gathered {
  readonly attributes: Attributes;
  readonly cumulative: [bound: number, count: number][];
  count: number;
  sum: number;
}

/** Reads a histogram; each of its buckets counts the ones below it as well. */
export function readHistogram({ name, values }: PromMetric): readonly HistogramPoint[] {
  const gathered = new Map<string, Gathered>();
  for (const { value, labels, metricName } of values) {
    const { le, ...rest } = labels;
    const attributes = texts(rest);
    const key = JSON.stringify(attributes);
    const one = gathered.get(key) ?? { attributes, cumulative: [], count: 0, sum: 0 };
    gathered.set(key, one);
    if (metricName === `${name}_sum`) one.sum = value;
    else if (metricName === `${name}_count`) one.count = value;
    else if (le !== "+Inf") one.cumulative.push([Number(le), value]);
  }
  return [...gathered.values()].map(({ attributes, cumulative, count, sum }) => {
    const sorted = cumulative.toSorted(([one], [other]) => one - other);
    const below = [0, ...sorted.map(([, value]) => value)];
    const counts = [...sorted.map(([, value]) => value), count].map(
      (value, at) => value - (below[at] ?? 0),
    );
    const boundaries = sorted.map(([bound]) => bound);
    return { attributes, value: { count, sum, buckets: { boundaries, counts } } };
  });
}

function texts(labels: Readonly<Record<string, string | number>>): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]));
}
