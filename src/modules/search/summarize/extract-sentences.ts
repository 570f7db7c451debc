/**
 * Splits a text into sentences in order: wrapped lines are joined, list marks are removed, and sentences end by
 * Unicode's rules for every script. The time is linear in the length of any text.   Unicode UAX #29, AGTP "SUMMARIZE"
 */

/**
 * Splits texts into sentences; one splitter serves all texts, since creating one costs more than most texts. Yields
 * undefined to pause: a sentence may take long to end.
 */
type SentenceSplitter = (text: string) => Generator<string | undefined>;

/**
 * Characters per window. The segmenter copies its input for each segment, so a whole text would take quadratic time.
 */
const WINDOW = 512;
/** A longer sentence is cut here: it exceeds any summary, so none contains it as a whole. */
const LONGEST_SENTENCE = 32_768;
/** Lines between two pauses. */
const PAUSE_LINES = 64;
/** A line of at least this length was most likely wrapped. */
const WRAPPED_LENGTH = 60;

const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/g;
const ENDED = /[.!?:;。！？；：…।॥؟۔።]["'”’»)\]]*$/u;
const LIST_MARK = /^(?:[-*+•‣·#>|]{1,6}|\(?(?:\d{1,3}|[a-zA-Z])[.)])[ \t]+/u;
const LOWER_CASE = /^\p{Ll}/u;
/** Half a surrogate pair at the end of a cut. */
const HALF_CHARACTER = /[\uD800-\uDBFF]$/;
const WORD = /[\p{L}\p{N}]/u;
/** A stop after one of these, or after an initial, ends no sentence. */
const ABBREVIATED =
  /(?:^|[\s("'“‘])(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|e\.g|i\.e|cf|ca|approx|Fig|No|Nr|bzw|z\.B|d\.h|p\.ex|\p{Lu}(?:\.\p{Lu})*)\.$/u;
const LONGEST_ABBREVIATION = 12;

/** Creates a splitter. */
export function createSentenceSplitter(): SentenceSplitter {
  // Without a language, so that a text has the same sentences on every machine.
  const segmenter = new Intl.Segmenter("und", { granularity: "sentence" });
  return function* split(text) {
    for (const block of blocksOf(text)) {
      yield;
      if (block === undefined) continue;
      for (const sentence of joinAbbreviated(segmentsOf(block, segmenter))) {
        const trimmed = sentence?.trim();
        if (trimmed === undefined || WORD.test(trimmed)) yield trimmed;
      }
    }
  };
}

/** Joins wrapped lines to blocks; yields undefined to pause. */
function* blocksOf(text: string): Generator<string | undefined> {
  let lines: string[] = [];
  let last = "";
  let count = 0;
  for (const line of linesOf(text)) {
    count += 1;
    if (count % PAUSE_LINES === 0) yield;
    const mark = LIST_MARK.exec(line)?.[0].length ?? 0;
    if (lines.length > 0 && !(mark === 0 && continues(last, line))) {
      yield lines.join(" ");
      lines = [];
    }
    if (line !== "") lines.push(line.slice(mark));
    last = line;
  }
  if (lines.length > 0) yield lines.join(" ");
}

function* linesOf(text: string): Generator<string> {
  let start = 0;
  for (const { index, 0: end } of text.matchAll(LINE_END)) {
    yield text.slice(start, index).trim();
    start = index + end.length;
  }
  yield text.slice(start).trim();
}

function continues(last: string, line: string): boolean {
  if (last === "" || line === "" || ENDED.test(last.slice(-LONGEST_ABBREVIATION))) return false;
  return LOWER_CASE.test(line) || last.length >= WRAPPED_LENGTH;
}

/** Splits a block window by window; the last segment of a window may be cut, so the next window starts with it. */
function* segmentsOf(block: string, segmenter: Intl.Segmenter): Generator<string | undefined> {
  let start = 0;
  let size = WINDOW;
  while (start < block.length) {
    yield;
    const rest = block.slice(start, start + size);
    // A window never ends within a character, except at the end of the block.
    const isLast = start + rest.length >= block.length;
    const window = isLast ? rest : rest.replace(HALF_CHARACTER, "");
    const segments = size === WINDOW ? segmentsIn(window, segmenter) : firstOf(window, segmenter);
    const isCut = !isLast && segments.at(-1)?.end === window.length;
    if (isCut && size < LONGEST_SENTENCE) segments.pop();
    for (const { text } of segments) yield text;
    start += segments.at(-1)?.end ?? 0;
    // A sentence longer than the window needs a larger one.
    size = segments.length > 0 ? WINDOW : size * 2;
  }
}

interface Segment {
  readonly text: string;
  /** End index in the window. */
  readonly end: number;
}

function segmentsIn(window: string, segmenter: Intl.Segmenter): Segment[] {
  return Array.from(segmenter.segment(window), ({ segment, index }) => ({
    text: segment,
    end: index + segment.length,
  }));
}

/** Returns the first segment only: it was longer than a window, and each further one would copy the whole text. */
function firstOf(window: string, segmenter: Intl.Segmenter): Segment[] {
  for (const { segment } of segmenter.segment(window)) {
    return [{ text: segment, end: segment.length }];
  }
  return [];
}

function* joinAbbreviated(segments: Iterable<string | undefined>): Generator<string | undefined> {
  let begun = "";
  for (const segment of segments) {
    if (segment === undefined) {
      yield;
      continue;
    }
    begun += segment;
    const isAbbreviated = ABBREVIATED.test(segment.trimEnd().slice(-LONGEST_ABBREVIATION));
    if (isAbbreviated && begun.length < LONGEST_SENTENCE) continue;
    yield begun;
    begun = "";
  }
  if (begun !== "") yield begun;
}
