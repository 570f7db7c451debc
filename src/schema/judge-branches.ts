/** The keywords that apply other schemas to the same value. */
import { isRecord, recordIn } from "../base/json-value.ts";
import type { Judge, JudgeMaker, Judgement, JudgeSurroundings } from "./judgement.ts";
import type { SchemaError } from "./schema-violation.ts";

/** The keywords, in the order in which they are checked. */
export const BRANCH_MAKERS: readonly (readonly [string, JudgeMaker])[] = [
  ["$ref", reference],
  ["allOf", allOf],
  ["anyOf", anyOf],
  ["oneOf", oneOf],
  ["not", not],
  ["if", ifThenElse],
  ["dependentSchemas", dependentSchemas],
];

/** Applies a branch that must hold, and reports its findings. */
function holds(judge: Judge, value: unknown, at: Judgement): boolean {
  const branch = at.branch();
  if (!judge(value, branch)) return false;
  at.adopt(branch);
  return true;
}

/** Tries out a branch without reporting its findings. */
function fits(judge: Judge, value: unknown, at: Judgement): boolean {
  const branch = at.silently();
  if (!judge(value, branch)) return false;
  at.adopt(branch);
  return true;
}

/** Resolved at the first value, since the target may be the surrounding schema. */
function reference(value: unknown, { resolve, judgeOf }: JudgeSurroundings): Judge {
  let judge: Judge | undefined;
  return (judged, at) => {
    judge ??= judgeOf(resolve(String(value)));
    return holds(judge, judged, at);
  };
}

function allOf(value: unknown, surroundings: JudgeSurroundings): Judge {
  const judges = judgesOf(value, surroundings);
  return (judged, at) => at.allHold(judges, (judge) => holds(judge, judged, at));
}

/** Applies every branch if evaluated members are tracked, since each that fits evaluates some. */
function anyOf(value: unknown, surroundings: JudgeSurroundings): Judge {
  const judges = judgesOf(value, surroundings);
  return (judged, at) => {
    const apart: SchemaError[] | undefined = at.isSettled ? undefined : [];
    let isValid = false;
    for (const judge of judges) {
      const branch = apart === undefined || isValid ? at.silently() : at.branch(apart);
      if (!judge(judged, branch)) continue;
      at.adopt(branch);
      isValid = true;
      if (at.evaluated === undefined) break;
    }
    if (isValid) return true;
    at.report(apart ?? []);
    return at.fail("anyOf", "must match a schema in anyOf");
  };
}

function oneOf(value: unknown, surroundings: JudgeSurroundings): Judge {
  const judges = judgesOf(value, surroundings);
  return (judged, at) => {
    const apart: SchemaError[] | undefined = at.isSettled ? undefined : [];
    let fitting: Judgement | undefined;
    let count = 0;
    for (const judge of judges) {
      const branch = apart === undefined || count > 0 ? at.silently() : at.branch(apart);
      if (!judge(judged, branch)) continue;
      fitting = branch;
      count += 1;
      if (count > 1) break;
    }
    if (fitting !== undefined && count === 1) {
      at.adopt(fitting);
      return true;
    }
    if (count === 0) at.report(apart ?? []);
    return at.fail("oneOf", "must match exactly one schema in oneOf");
  };
}

function not(value: unknown, { judgeOf }: JudgeSurroundings): Judge {
  const judge = judgeOf(value);
  return (judged, at) => !judge(judged, at.silently()) || at.fail("not", "must not be valid");
}

function ifThenElse(value: unknown, { schema, judgeOf }: JudgeSurroundings): Judge {
  const judge = judgeOf(value);
  const ifFitting = judgeOf(schema["then"] ?? true);
  const otherwise = judgeOf(schema["else"] ?? true);
  return (judged, at) =>
    fits(judge, judged, at)
      ? holds(ifFitting, judged, at) || at.fail("if", 'must match "then" schema')
      : holds(otherwise, judged, at) || at.fail("if", 'must match "else" schema');
}

function dependentSchemas(value: unknown, { judgeOf }: JudgeSurroundings): Judge {
  const judges = Object.entries(recordIn(value)).map(([name, schema]) => {
    return { name, judge: judgeOf(schema) };
  });
  return (judged, at) => {
    if (!isRecord(judged)) return true;
    at.spend(judges.length);
    return at.allHold(judges, ({ name, judge }) => {
      return !Object.hasOwn(judged, name) || holds(judge, judged, at);
    });
  };
}

function judgesOf(value: unknown, { judgeOf }: JudgeSurroundings): readonly Judge[] {
  return Array.isArray(value) ? value.map((schema: unknown) => judgeOf(schema)) : [];
}
