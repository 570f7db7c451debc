/**
 * A text as sentences, in its order: lines that were only wrapped are joined, list marks are left
 * out, and what ends a sentence is what Unicode says for every script. Takes time in proportion to
 * the text, whatever is in it.   Unicode UAX #29, AGTP "SUMMARIZE"
 */

/**
 * Finds sentences; one for all texts, because making one costs more than most texts do. Yields
 * undefined where others may have their turn: a text may go on for long before a sentence ends.
 */
type SentenceSplitter = (text: string) => Generator<string | undefined>;

/**
 * The segmenter copies what it is given for each segment that it finds, so that a whole text would
 * take time in proportion to its square.
 */
const WINDOW = 512;
/**
 * A sentence that ends later than this ends here: longer than any summary, so that it is in none as
 * a whole.
 */
const LONGEST_SENTENCE = 32_768;
/** Lines between two pauses. */
const PAUSE_LINES = 64;
/** A line this long was most likely wrapped. */
const WRAPPED_LENGTH = 60;

const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/g;
const ENDED = /[.!?:;。！？；：…।॥؟۔።]["'”’»)\]]*$/u;
const LIST_MARK = /^(?:[-*+•‣·#>|]{1,6}|\(?(?:\d{1,3}|[a-zA-Z])[.)])[ \t]+/u;
const LOWER_CASE = /^\p{Ll}/u;
/** At the end of what was cut. */
const HALF_CHARACTER = /[\uD800-\uDBFF]$/;
const WORD = /[\p{L}\p{N}]/u;
/** A stop after one of these ends no sentence; so does one after an initial. */
const ABBREVIATED =
  /(?:^|[\s("'“‘])(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|e\.g|i\.e|cf|ca|approx|Fig|No|Nr|bzw|z\.B|d\.h|p\.ex|\p{Lu}(?:\.\p{Lu})*)\.$/u;
const LONGEST_ABBREVIATION = 12;

/** Makes a splitter. */
export function createSentenceSplitter(): SentenceSplitter {
  // Of no language: the same text has the same sentences on every machine.
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

/** Lines, those that belong together as one; undefined for a pause. */
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

/** The last segment of a window may have been cut, so it begins the next one. */
function* segmentsOf(block: string, segmenter: Intl.Segmenter): Generator<string | undefined> {
  let start = 0;
  let size = WINDOW;
  while (start < block.length) {
    yield;
    const rest = block.slice(start, start + size);
    // Never cut within a character; half of one may be all that there is at the end.
    const isLast = start + rest.length >= block.length;
    const window = isLast ? rest : rest.replace(HALF_CHARACTER, "");
    const segments = size === WINDOW ? segmentsIn(window, segmenter) : firstOf(window, segmenter);
    const isCut = !isLast && segments.at(-1)?.end === window.length;
    if (isCut && size < LONGEST_SENTENCE) segments.pop();
    for (const { text } of segments) yield text;
    start += segments.at(-1)?.end ?? 0;
    // A sentence that is longer than the window takes a larger one.
    size = segments.length > 0 ? WINDOW : size * 2;
  }
}

interface Segment {
  readonly text: string;
  /** The index of its end in its window. */
  readonly end: number;
}

function segmentsIn(window: string, segmenter: Intl.Segmenter): Segment[] {
  return Array.from(segmenter.segment(window), ({ segment, index }) => ({
    text: segment,
    end: index + segment.length,
  }));
}

/** Only the first was longer than a window; each further one would copy all of this one. */
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
