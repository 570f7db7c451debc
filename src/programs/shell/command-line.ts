/**
 * The line that a command declares, as types: `--agent-id <id>` is read as `agentId: string`, a flag
 * without a value as a boolean, `<files...>` as a list. A declared option is thereby typed.
 */

/** An option's help, and how it is read. */
export interface OptionDetails {
  readonly help: string;
  /** Taken where the option is not written. */
  readonly default?: unknown;
  readonly choices?: readonly string[];
  readonly isRequired?: true;
  /** It may be written several times, and is a list. */
  readonly isRepeated?: true;
  /** @throws InvalidValue for a text that is none. */
  readonly parse?: (text: string) => unknown;
}

/** Options by their flags: `-i, --include`, `--ca <file>`, `--key [file]`, `--no-agent`. */
export type OptionTable = Readonly<Record<string, string | OptionDetails>>;
/** Arguments by name, with what --help says of them: `<uri>`, `[path]`, `[files...]`. */
export type ArgumentTable = Readonly<Record<string, string>>;

type CamelCase<Name extends string> = Name extends `${infer Word}-${infer Rest}`
  ? `${Word}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** The last of several names counts. */
type OptionName<Flags extends string> = Flags extends `${string}, ${infer Last}`
  ? OptionName<Last>
  : Flags extends `--no-${infer Name}`
    ? CamelCase<Name>
    : Flags extends `--${infer Name} ${string}`
      ? CamelCase<Name>
      : Flags extends `--${infer Name}`
        ? CamelCase<Name>
        : never;

type WrittenValue<Flags extends string> = Flags extends `${string} <${string}>`
  ? string
  : Flags extends `${string} [${string}]`
    ? string | true
    : Flags extends `--no-${string}`
      ? false
      : boolean;

type OptionValue<Flags extends string, Details> = Details extends {
  readonly parse: (text: string) => infer Value;
}
  ? Value
  : Details extends { readonly isRepeated: true }
    ? readonly string[]
    : Details extends { readonly choices: readonly (infer Choice)[] }
      ? Choice
      : WrittenValue<Flags>;

/** It has a value whether it is written or not. */
type Certain = { readonly default: unknown } | { readonly isRequired: true };
type AlwaysThere = Certain | { readonly isRepeated: true };

/** The options of a table, as written. */
export type Options<Table> = {
  readonly [Flags in keyof Table & string as Table[Flags] extends AlwaysThere
    ? OptionName<Flags>
    : never]: OptionValue<Flags, Table[Flags]>;
} & {
  readonly [Flags in keyof Table & string as Table[Flags] extends AlwaysThere
    ? never
    : OptionName<Flags>]?: OptionValue<Flags, Table[Flags]>;
};

type Arguments<Table> = {
  readonly [Name in keyof Table & string as Name extends `<${infer Bare}>`
    ? CamelCase<Bare>
    : Name extends `[${infer Bare}...]`
      ? CamelCase<Bare>
      : never]: Name extends `[${string}...]` ? readonly string[] : string;
} & {
  readonly [Name in keyof Table & string as Name extends `[${string}...]`
    ? never
    : Name extends `[${infer Bare}]`
      ? CamelCase<Bare>
      : never]?: string;
};

/** A command line that was read. */
export type Line<ArgumentsOf, OptionsOf> = Arguments<ArgumentsOf> & Options<OptionsOf>;
