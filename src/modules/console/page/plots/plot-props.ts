/** A plot over time: its lines, and its figures in words. */

/** One line of a plot. */
export interface Line {
  readonly name: string;
  /** A colour of the style, by its name: `--accent`. */
  readonly colour: string;
  /** One for each moment; null where nothing is known. */
  readonly values: readonly (number | null)[];
}

/** A plot, and how its figures are written. */
export interface PlotProps {
  readonly title: string;
  /** Seconds since the epoch, in order. */
  readonly moments: readonly number[];
  readonly lines: readonly Line[];
  readonly text: (value: number | null) => string;
}
