/** The keywords that judge objects by their members; only own ones count. */
import { isRecord, type JsonRecord, textsIn } from "../base/json-value.ts";
import type { Judge, JudgeMaker, Judgement, JudgeSurroundings } from "./judgement.ts";
import { testMetered } from "./work-meter.ts";

/** By keyword, in the order in which they judge. */
export const OBJECT_MAKERS: readonly (readonly [string, JudgeMaker])[] = [
  ["minProperties", (limit) => atLeast(Number(limit))],
  ["maxProperties", (limit) => atMost(Number(limit))],
  ["required", required],
  ["dependentRequired", dependentRequired],
  ["propertyNames", propertyNames],
  ["properties", properties],
  ["patternProperties", patternProperties],
  ["additionalProperties", additionalProperties],
];

/** `unevaluatedProperties`, which comes after all that may look at members. */
export function judgeUnevaluatedProperties(value: unknown, { judgeOf }: JudgeSurroundings): Judge {
  const judge = judgeOrRefuse("unevaluatedProperty", value, judgeOf);
  return ofObjects((record, at) => {
    const { evaluated } = at;
    if (evaluated?.hasAllNames) return true;
    const isValid = judgeMembers(record, at, (name) => {
      return evaluated?.names.has(name) || judge(record, name, at);
    });
    evaluated?.takeAllNames();
    return isValid;
  });
}

function ofObjects(judge: (record: JsonRecord, at: Judgement) => boolean): Judge {
  return (value, at) => !isRecord(value) || judge(value, at);
}

/**
 * Tells whether all members are right; stops at the first that is not when nobody hears of others.
 */
function judgeMembers(
  record: JsonRecord,
  at: Judgement,
  judge: (name: string) => boolean,
): boolean {
  let isValid = true;
  for (const name of namesOf(record, at)) {
    if (judge(name)) continue;
    isValid = false;
    if (at.isSettled) break;
  }
  return isValid;
}

function namesOf(record: JsonRecord, at: Judgement): readonly string[] {
  const names = Object.keys(record);
  at.spend(2 * names.length);
  return names;
}

/** Judges a member that no other keyword looks at. */
type MemberJudge = (record: JsonRecord, name: string, at: Judgement) => boolean;

function judgeOrRefuse(
  parameter: "additionalProperty" | "unevaluatedProperty",
  schema: unknown,
  judgeOf: JudgeSurroundings["judgeOf"],
): MemberJudge {
  if (schema === false) {
    const keyword =
      parameter === "additionalProperty" ? "additionalProperties" : "unevaluatedProperties";
    return (_record, name, at) => at.fail(keyword, "", { [parameter]: name });
  }
  const judge = judgeOf(schema);
  return (record, name, at) => judge(record[name], at.child(name));
}

function atLeast(limit: number): Judge {
  const message = `must not have fewer than ${limit} properties`;
  return ofObjects((record, at) => {
    return namesOf(record, at).length >= limit || at.fail("minProperties", message);
  });
}

function atMost(limit: number): Judge {
  const message = `must not have more than ${limit} properties`;
  return ofObjects((record, at) => {
    return namesOf(record, at).length <= limit || at.fail("maxProperties", message);
  });
}

function required(value: unknown): Judge {
  const names = textsIn(value);
  return ofObjects((record, at) => {
    at.spend(names.length);
    let isValid = true;
    for (const name of names) {
      if (Object.hasOwn(record, name)) continue;
      isValid = at.fail("required", "", { missingProperty: name });
      if (at.isSettled) break;
    }
    return isValid;
  });
}

function dependentRequired(value: unknown): Judge {
  const dependencies = entriesOf(value).map(([name, needed]) => [name, textsIn(needed)] as const);
  return ofObjects((record, at) => {
    at.spend(dependencies.length);
    let isValid = true;
    for (const [name, needed] of dependencies) {
      if (!Object.hasOwn(record, name)) continue;
      at.spend(needed.length);
      for (const other of needed) {
        if (Object.hasOwn(record, other)) continue;
        const message = `must have property ${other} when property ${name} is present`;
        isValid = at.fail("dependentRequired", message, { missingProperty: other });
        if (at.isSettled) return isValid;
      }
    }
    return isValid;
  });
}

function propertyNames(value: unknown, { judgeOf }: JudgeSurroundings): Judge {
  const judge = judgeOf(value);
  return ofObjects((record, at) => {
    return judgeMembers(record, at, (name) => {
      if (judge(name, at.child(name))) return true;
      return at.fail("propertyNames", "property name must be valid", { propertyName: name });
    });
  });
}

function properties(value: unknown, { judgeOf }: JudgeSurroundings): Judge {
  const judges = entriesOf(value).map(([name, schema]) => [name, judgeOf(schema)] as const);
  return ofObjects((record, at) => {
    at.spend(judges.length);
    let isValid = true;
    for (const [name, judge] of judges) {
      if (!Object.hasOwn(record, name)) continue;
      at.evaluated?.names.add(name);
      if (judge(record[name], at.child(name))) continue;
      isValid = false;
      if (at.isSettled) break;
    }
    return isValid;
  });
}

function patternProperties(value: unknown, { judgeOf, regexOf }: JudgeSurroundings): Judge {
  const judges = entriesOf(value).map(([source, schema]) => {
    return { regex: regexOf(source), judge: judgeOf(schema) };
  });
  return ofObjects((record, at) => {
    return judgeMembers(record, at, (name) => {
      let isValid = true;
      for (const { regex, judge } of judges) {
        if (!testMetered(regex, name, at.meter)) continue;
        at.evaluated?.names.add(name);
        isValid = judge(record[name], at.child(name)) && isValid;
      }
      return isValid;
    });
  });
}

function additionalProperties(
  value: unknown,
  { schema, judgeOf, regexOf }: JudgeSurroundings,
): Judge {
  const judge = judgeOrRefuse("additionalProperty", value, judgeOf);
  const names = new Set(entriesOf(schema["properties"]).map(([name]) => name));
  const patterns = entriesOf(schema["patternProperties"]).map(([source]) => regexOf(source));
  return ofObjects((record, at) => {
    const isValid = judgeMembers(record, at, (name) => {
      const isNamed =
        names.has(name) || patterns.some((regex) => testMetered(regex, name, at.meter));
      return isNamed || judge(record, name, at);
    });
    at.evaluated?.takeAllNames();
    return isValid;
  });
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isRecord(value) ? Object.entries(value) : [];
}
