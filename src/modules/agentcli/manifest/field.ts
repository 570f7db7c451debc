/**
 * The few forms of field that a manifest is made of, as data: validation, the JSON Schema, the legacy
 * descriptors and the search for unknown keys all read the same tables.   agentcli spec "Fields"
 */

/** Fields by name, in the order in which they are checked. */
export type Fields = Readonly<Record<string, Field>>;

/**
 * One field. What is null counts as absent. `kept` is the value of a broader scope that a narrower one
 * cannot take back; a block that is whole, like a list, is replaced and not merged.
 */
export type Field =
  /** Not blank, without control characters. */
  | { readonly kind: "string"; readonly required?: boolean }
  | { readonly kind: "identifier"; readonly required?: boolean }
  | { readonly kind: "token"; readonly required?: boolean }
  /** Any string, the empty one too. */
  | { readonly kind: "text" }
  | { readonly kind: "boolean"; readonly kept?: true }
  | { readonly kind: "integer"; readonly min: number }
  | { readonly kind: "number"; readonly min: number }
  | {
      readonly kind: "enum";
      readonly values: readonly string[];
      readonly required?: boolean;
      readonly kept?: string;
    }
  | {
      readonly kind: "block";
      readonly fields: Fields;
      readonly required?: readonly string[];
      readonly isWhole?: true;
    }
  | { readonly kind: "list"; readonly items?: Field }
  /** An object whose members are the author's own; merged one level deep, or replaced. */
  | { readonly kind: "map"; readonly isMerged?: true }
  /** Environment variables by name. */
  | { readonly kind: "environment" }
  /** `contains:…` or `regex:…`. */
  | { readonly kind: "condition" }
  /** The source of a value: the environment, a file, a command, or the manifest itself. */
  | { readonly kind: "source"; readonly literal: boolean }
  /** The flat form of 0.1, or the structured one of 0.2. */
  | { readonly kind: "identity" }
  /** A shell command that must be there when its block is. */
  | { readonly kind: "command-line" }
  /** Gone for good, with what takes its place. */
  | { readonly kind: "removed"; readonly message: string };

/** A block of fields. */
export function block(fields: Fields, required: readonly string[] = []): Field {
  return { kind: "block", fields, required };
}

/** One of some words. */
export function among(...values: readonly string[]): Field {
  return { kind: "enum", values };
}

/** A list. */
export function list(items?: Field): Field {
  return items === undefined ? { kind: "list" } : { kind: "list", items };
}

/** A whole number of at least so much. */
export function integer(min: number): Field {
  return { kind: "integer", min };
}

/** A text. */
export const STRING: Field = { kind: "string" };
/** A token. */
export const TOKEN: Field = { kind: "token" };
/** A flag. */
export const BOOLEAN: Field = { kind: "boolean" };
/** An object whose members are the author's own. */
export const MAP: Field = { kind: "map" };
/** The same, of which a narrower scope replaces single members. */
export const MERGED_MAP: Field = { kind: "map", isMerged: true };

/** A text that must be there. */
export const REQUIRED_STRING: Field = { kind: "string", required: true };
/** A token that must be there. */
export const REQUIRED_TOKEN: Field = { kind: "token", required: true };
/** An identifier that must be there. */
export const REQUIRED_IDENTIFIER: Field = { kind: "identifier", required: true };

/** Members that a manifest may leave out, or have null, which is the same. */
export type Loose<Members> = { readonly [Name in keyof Members]?: Members[Name] | null };

/** Texts that a manifest may leave out. */
export type LooseTexts<Name extends string> = Loose<Record<Name, string>>;
