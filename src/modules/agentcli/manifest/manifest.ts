/** The types of a valid manifest; keys are the manifest's own, and null equals absent. */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { BLOCKS, TrustLevel } from "./fields.ts";

type Blocks = typeof BLOCKS;

/** The members of a block, required and optional. */
type Members<Name extends keyof Blocks> = {
  readonly [Member in RequiredOf<Blocks[Name]>]: ValueOf<Blocks[Name][Member]>;
} & {
  readonly [Member in Exclude<keyof Blocks[Name], RequiredOf<Blocks[Name]>>]?: ValueOf<
    Blocks[Name][Member]
  > | null;
};

type RequiredOf<Fields> = {
  [Member in keyof Fields]: Fields[Member] extends
    | `${string}!`
    | "command line"
    | { readonly required: true }
    ? Member
    : never;
}[keyof Fields];

type ValueOf<Field> = Field extends keyof Words
  ? Words[Field]
  : Field extends `#${infer Name extends keyof Blocks}` | { whole: infer Name extends keyof Blocks }
    ? Members<Name>
    : Field extends { among: readonly (infer Word)[] }
      ? Word
      : Field extends { list: infer Item }
        ? readonly ValueOf<Item>[]
        : Field extends { type: "boolean" }
          ? boolean
          : Field extends { integer: number } | { number: number }
            ? number
            : unknown;

type Text =
  | `${"string" | "identifier" | "token"}${"" | "!"}`
  | ("text" | "condition" | "command line" | "variable" | "file prefix");

interface Words extends Readonly<Record<Text, string>> {
  readonly boolean: boolean;
  readonly list: readonly unknown[];
  readonly "trust level": TrustLevel;
  readonly map: JsonRecord;
  readonly "merged map": JsonRecord;
  readonly environment: Readonly<Record<string, string>>;
  readonly source: ValueSource;
  readonly "source or literal": ValueSource;
  readonly identity: Identity;
}

export type ValueSource = Members<"source">;

export interface Manifest {
  readonly version: "0.1" | "0.2";
  readonly identity_profiles?: readonly IdentityProfile[] | null;
  readonly authorization_proof_profiles?: readonly ProofProfile[] | null;
  readonly authorization_profiles?: readonly AuthorizationProfile[] | null;
  readonly evidence_profiles?: readonly EvidenceProfile[] | null;
  readonly workflows: readonly Workflow[];
}

export type Governed = Members<"workflow_head"> & Members<"governance"> & Members<"tail">;

export type Workflow = Governed & { readonly tasks: readonly Task[] };

/** The members of a task except its name and invocation. */
type TaskBody = Members<"surface"> & Members<"task_options"> & Members<"task_settings">;

export type Task = Governed &
  TaskBody &
  Members<"task_head"> &
  Members<"invocation"> & {
    readonly target: Target;
    readonly on_failure?: FailureHandler | null;
  };

/** The shorthand for a task that runs when another fails. */
export type FailureHandler = Partial<Governed> &
  TaskBody &
  Members<"handler_head"> & { readonly target?: Target | null };

/** The target of a task. */
export type Target = Members<"target">;
/** The trigger of a task. */
export type Trigger = Members<"trigger">;
/** The approval that a run needs. */
export type Approval = Members<"approval">;

/** Both forms; the keys that are present decide which one applies. */
export type Identity = Members<"structured_identity"> & Members<"flat_identity">;
/** The members common to profiles and structured identities. */
export type IdentityParts = Pick<Identity, "subject" | "auth" | "trust" | "presentation">;
/** The principal that a task acts as. */
export type Subject = Members<"subject">;
export type Auth = Members<"auth">;
/** The limits of delegation. */
export type DelegationPolicy = Members<"delegation_policy">;
/** A credential and its destination. */
export type Binding = Members<"binding">;

/** The rules that an execution must keep. */
export type Contract = Members<"contract">;
/** References to profiles. */
export type ProofReference = Members<"proof_reference">;
export type AuthorizationReference = Members<"authorization_reference">;
export type EvidenceReference = Members<"evidence_reference">;
/** Entries of the lists of profiles. */
export type IdentityProfile = Members<"identity_profile">;
export type ProofProfile = Members<"proof_profile">;
type AuthorizationProfile = Members<"authorization_profile">;
export type EvidenceProfile = Members<"evidence_profile">;
