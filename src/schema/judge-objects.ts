/** The keywords that check objects by their own members. */
import { isRecord, type JsonRecord, textsIn } from "../base/json-value.ts";
import type { Judge, JudgeMaker, Judgement, JudgeSurroundings } from "./judgement.ts";
import { testMetered } from "./work-meter.ts";

/** The keywords, in the order in which they are checked. */
export const OBJECT_MAKERS: readonly (readonly [string, JudgeMaker])[] = [
  [
    "minProperties",
    (limit) => counting("minProperties", `fewer than ${limit}`, (count) => count >= Number(limit)),
  ],
  [
    "maxProperties",
    (limit) => counting("maxProperties", `more than ${limit}`, (count) => count <= Number(limit)),
  ],
  ["required", required],
  ["dependentRequired", dependentRequired],
  ["propertyNames", propertyNames],
  ["properties", properties],
  ["patternProperties", patternProperties],
  ["additionalProperties", additionalProperties],
];

/** `unevaluatedProperties`, which runs after every keyword that evaluates members. */
export function judgeUnevaluatedProperties(value: unknown, { judgeOf }: JudgeSurroundings): Judge {
  const judge = judgeOrRefuse("unevaluatedProperty", value, judgeOf);
  return ofObjects((record, at) => {
    const { evaluated } = at;
    if (evaluated?.hasAllNames) return true;
    const isValid = at.allHold(namesOf(record, at), (name) => {
      return evaluated?.names.has(name) || judge(record, name, at);
    });
    evaluated?.takeAllNames();
    return isValid;
  });
}

function ofObjects(judge: (record: JsonRecord, at: Judgement) => boolean): Judge {
  return (value, at) => !isRecord(value) || judge(value, at);
}

function namesOf(record: JsonRecord, at: Judgement): readonly string[] {
  const names = Object.keys(record);
  at.spend(2 * names.length);
  return names;
}

/** Checks a member that no other keyword evaluates. */
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

/** Checks the number of members; `words` name the violation. */
function counting(keyword: string, words: string, holds: (count: number) => boolean): Judge {
  const message = `must not have ${words} properties`;
  return ofObjects((record, at) => {
    return holds(namesOf(record, at).length) || at.fail(keyword, message);
  });
}

function required(value: unknown): Judge {
  const names = textsIn(value);
  return ofObjects((record, at) => {
    at.spend(names.length);
    return at.allHold(names, (name) => {
      return Object.hasOwn(record, name) || at.fail("required", "", { missingProperty: name });
    });
  });
}

function dependentRequired(value: unknown): Judge {
  const dependencies = entriesOf(value).map(([name, needed]) => [name, textsIn(needed)] as const);
  return ofObjects((record, at) => {
    at.spend(dependencies.length);
    return at.allHold(dependencies, ([name, needed]) => {
      if (!Object.hasOwn(record, name)) return true;
      at.spend(needed.length);
      return at.allHold(needed, (other) => {
        if (Object.hasOwn(record, other)) return true;
        const message = `must have property ${other} when property ${name} is present`;
        return at.fail("dependentRequired", message, { missingProperty: other });
      });
    });
  });
}

function propertyNames(value: unknown, { judgeOf }: JudgeSurroundings): Judge {
  const judge = judgeOf(value);
  return ofObjects((record, at) => {
    return at.allHold(namesOf(record, at), (name) => {
      if (judge(name, at.child(name))) return true;
      return at.fail("propertyNames", "property name must be valid", { propertyName: name });
    });
  });
}

function properties(value: unknown, { judgeOf }: JudgeSurroundings): Judge {
  const judges = entriesOf(value).map(([name, schema]) => [name, judgeOf(schema)] as const);
  return ofObjects((record, at) => {
    at.spend(judges.length);
    return at.allHold(judges, ([name, judge]) => {
      if (!Object.hasOwn(record, name)) return true;
      at.evaluated?.names.add(name);
      return judge(record[name], at.child(name));
    });
  });
}

function patternProperties(value: unknown, { judgeOf, regexOf }: JudgeSurroundings): Judge {
  const judges = entriesOf(value).map(([source, schema]) => {
    return { regex: regexOf(source), judge: judgeOf(schema) };
  });
  return ofObjects((record, at) => {
    return at.allHold(namesOf(record, at), (name) => {
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
    const isValid = at.allHold(namesOf(record, at), (name) => {
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
